internal import CASStore
package import VersionTree

extension Command {
    /// `fsck` of castree: checks, and repairs with `--repair`.
    ///
    /// - Parameter observed: makes somebody notice what is found.
    package static func fsck(
        observed: @escaping @Sendable (VersionStore) -> VersionStore = { $0 }
    ) -> Command {
        check(
            "fsck", summary: "checks everything, and repairs what can be repaired",
            example: StoreSource.option.example("fsck --deep"), source: .option,
            more: [.flag("repair", "repair what can be repaired without guessing")],
            observed: observed
        ) { $0.flag("repair") }
    }

    /// `check` and `repair` of castree-fsck.
    package static func checks() -> [Command] {
        [
            check(
                "check", summary: "checks everything and changes nothing",
                example: StoreSource.operand.example("check --deep"), source: .operand
            ) { _ in false },
            check(
                "repair", summary: "checks everything and repairs what can be repaired",
                example: StoreSource.operand.example("repair"), source: .operand
            ) { _ in true },
        ]
    }

    private static func check(
        _ name: String, summary: String, example: String, source: StoreSource,
        more: [Option] = [],
        observed: @escaping @Sendable (VersionStore) -> VersionStore = { $0 },
        repairs: @escaping @Sendable (Invocation) -> Bool
    ) -> Command {
        Command(
            name, summary: summary,
            discussion: """
                Compares objects with their addresses, the index with the manifests, trees with both, \
                the lifecycle with what is there, and finds what writers that died have left. It runs \
                safely beside everything else.

                Without --deep, every object is read and compared with its size and its XXH3 \
                fingerprint, which finds what disks do; --deep computes every SHA-256 anew, which \
                finds forgery too.

                A repair guesses nothing: a damaged object goes to quarantine, and the versions that \
                show it are incomplete until the same content is added or pulled again.

                    \(example)
                """,
            arguments: source.arguments,
            options: [.flag("deep", "compute the SHA-256 of every object")] + more,
            exitStatusHelp: ExitStatus.checkHelp, statuses: .check
        ) { invocation in
            let isRepairing = repairs(invocation)
            let versions = observed(try invocation.openStore(from: source))
            let tracker = ProgressTracker(
                invocation.progress("Checking", total: invocation.expectedBytes(in: versions)))
            defer { tracker.finish() }
            let options = CheckOptions(isDeep: invocation.flag("deep")) { _, bytes in
                tracker.report(bytes)
            }
            let report = try versions.check(options, repairing: isRepairing)
            tracker.finish()
            try invocation.report(report, isRepairing: isRepairing)
            return report.status
        }
    }
}

extension CheckReport {
    /// The exit status after fsck(8).
    fileprivate var status: ExitStatus {
        if findings.isEmpty { return .clean }
        return findings.allSatisfy(\.isRepaired) ? .repaired : .problemsLeft
    }
}

/// What help says about exit statuses.
extension ExitStatus {
    /// Of commands that are not checks.
    package static let standardHelp: [(status: ExitStatus, meaning: String)] = [
        (.done, "done"),
        (.failed, "the operation failed; the message says why"),
        (.usage, "the command line was wrong"),
        (.notFound, "there is no such version, object or store"),
        (.interrupted, "interrupted"),
    ]

    /// Of checks, after fsck(8).
    package static let checkHelp: [(status: ExitStatus, meaning: String)] = [
        (.clean, "nothing is wrong"),
        (.repaired, "problems were found, and all were repaired"),
        (.problemsLeft, "problems are left"),
        (.unchecked, "the check could not be made"),
        (.checkUsage, "the command line was wrong"),
        (.interrupted, "interrupted"),
    ]
}

extension Invocation {
    /// How many bytes a check will read, if somebody watches; nil if nobody does or nobody knows.
    fileprivate func expectedBytes(in versions: VersionStore) -> Int? {
        guard showsProgress else { return nil }
        // The bar can do without, and the check says what is wrong.
        return (try? versions.store.usage()).map { Int(clamping: $0.objectBytes) }
    }

    private var showsProgress: Bool {
        diagnostics.errors.isTerminal && !diagnostics.isQuiet && !diagnostics.isJSON
    }
}
