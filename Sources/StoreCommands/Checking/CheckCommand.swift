package import CASStore
package import Console
package import VersionTree

/// Finds an origin before the store is opened, and returns what then fetches from it.
///
/// It may replace the program with the one that speaks to networks.
package typealias RepairSourceFinder =
    @Sendable (_ invocation: Invocation, _ origin: String) throws ->
    (_ versions: VersionStore) throws -> RepairSource

/// Checks an origin that is named in place of the store; `options` are those of the command line.
package typealias OriginCheck =
    @Sendable (_ invocation: Invocation, _ origin: String, _ options: CheckOptions) throws ->
    ExitStatus

extension Command {
    /// `fsck` of castree: checks, and repairs with `--repair`.
    ///
    /// - Parameters:
    ///   - observed: lets an observer notice what is found.
    ///   - fetching: finds the origin that `--from` names.
    ///   - origin: checks an origin.
    package static func fsck(
        observed: @escaping @Sendable (VersionStore) -> VersionStore = { $0 },
        fetching: @escaping RepairSourceFinder, origin: @escaping OriginCheck
    ) -> Command {
        check(
            "fsck", summary: "checks the whole store; with --repair, repairs it",
            examples: [
                "fsck --deep",
                "fsck --since 30d --limit-rate 20M",
                "fsck --repair --dry-run",
                "fsck --from https://example.org/app",
                "fsck /srv/www/updates --deep",
                "fsck s3://updates/app --deep --limit-rate 20M",
                "fsck s3://updates/app --repair --from /srv/www/updates",
            ], source: .option,
            more: [
                .flag("repair", "repair what can be repaired without guessing"), .probe,
            ] + Option.repairing,
            observed: observed, fetching: fetching, origin: origin
        ) { $0.flag("repair") }
    }

    /// `check` and `repair` of castree-fsck.
    package static func checks(fetching: @escaping RepairSourceFinder) -> [Command] {
        [
            check(
                "check", summary: "checks the whole store and repairs nothing",
                examples: ["check --deep"], source: .operand
            ) { _ in false },
            check(
                "repair", summary: "checks the whole store and repairs it",
                examples: ["repair --dry-run", "repair"], source: .operand, more: Option.repairing,
                fetching: fetching
            ) { _ in true },
        ]
    }

    private static func check(
        _ name: String, summary: String, examples: [String], source: StoreSource,
        more: @autoclosure @escaping @Sendable () -> [Option] = [],
        observed: @escaping @Sendable (VersionStore) -> VersionStore = { $0 },
        fetching: RepairSourceFinder? = nil, origin: OriginCheck? = nil,
        repairs: @escaping @Sendable (Invocation) -> Bool
    ) -> Command {
        Command(
            name, summary: summary,
            discussion: discussion(repairs: !more().isEmpty, ofOrigins: origin != nil) + "\n\n"
                + examples.map { "    \(source.example($0))" }.joined(separator: "\n"),
            arguments: source.arguments + (origin == nil ? [] : [.checkedOrigin]),
            options: Option.checking + more(), statuses: .check
        ) { invocation in
            let options = try invocation.checkOptions()
            if let origin, let named = invocation.optionalArgument(Argument.checkedOrigin.name) {
                return try origin(invocation, named, options)
            }
            if origin != nil, invocation.flag("probe") {
                throw CommandError.usage("--probe is for origins in buckets: s3://BUCKET/PREFIX")
            }
            let origin = try fetching == nil ? nil : invocation.value("from")
            if fetching != nil, origin == nil {
                try invocation.refuse(
                    Option.reachingToRepair, "is for origins: name one with --from")
            }
            let isRepairing = origin != nil || repairs(invocation)
            if fetching != nil, invocation.flag("dry-run"), !isRepairing {
                throw CommandError.usage("--dry-run shows what a repair would do: add --repair")
            }
            let remote = try origin.flatMap { try fetching?(invocation, $0) }
            let dryRun = isRepairing && invocation.flag("dry-run")
            let outcome = try invocation.clearing(source, isRepairing: isRepairing, dryRun) {
                let versions = observed(try invocation.openStore(from: source))
                // Before anything is read: what cannot help is not said an hour later.
                let fetched = try remote?(versions)
                return try invocation.checked(
                    versions, options, from: fetched, isRepairing: isRepairing, isDryRun: dryRun)
            }
            try invocation.report(outcome)
            return outcome.report.status
        }
    }

    private static func discussion(repairs: Bool, ofOrigins: Bool) -> String {
        let looking = """
            Compares objects with their addresses, the index with the manifests, trees with both, \
            and the lifecycle with the store, and finds leftovers of killed writers. It is \
            safe alongside all other commands and uses all processors. Like every command, it \
            rebuilds the index if it cannot trust it (the store was copied, or the power failed), \
            and says so.

            By default it reads every object and compares its size and its XXH3 fingerprint, which \
            finds disk errors. --deep also computes every SHA-256 again, which finds tampering.

            The store remembers when each object was last found sound. --since reads only objects \
            not found sound since the time given, so an interrupted check continues where it \
            stopped, and a large store can be checked in parts, one each night. --sample reads a \
            share of the objects, always the same one for the same --seed. All other objects are \
            checked by name, size and mode only.
            """
        guard repairs else { return looking }
        let repairing = """


            A repair announces each step, then takes it, and never guesses. It recreates a lost \
            object from any file in the store with the same bytes (in trees, in quarantine, left \
            by downloads), and a lost manifest from its tree. --from \
            \(ofOrigins ? "implies --repair, and fetches" : "fetches") damaged or missing content \
            from an origin. A directory without an origin is refused \
            before anything is read; a server or bucket is asked only if something is wrong, so a \
            sound store on an offline device raises no alarm. If nothing helps, a damaged object \
            goes to quarantine, and the versions that use it are incomplete until you add or pull \
            the same content again.
            """
        guard ofOrigins else { return looking + repairing }
        return looking + repairing + """


            With the directory of an origin, or s3://BUCKET/PREFIX, it checks that origin instead \
            of the store: its log, what devices see, and whether every file of every release is \
            there. --deep also reads these files. A repair restores pointers, and lost files from \
            the store or from the origin that --from names. It is safe alongside publishers and \
            pruners (docs/buckets.md).
            """
    }
}

extension Invocation {
    /// Checks, and repairs if that is asked for.
    fileprivate func checked(
        _ versions: VersionStore, _ options: CheckOptions, from source: RepairSource?,
        isRepairing: Bool, isDryRun: Bool
    ) throws -> CheckOutcome {
        var options = options
        let total = try expectedBytes(in: versions, options)
        let bar = progress("Checking", total: total.map { Int(clamping: $0) })
        defer { bar.finish() }
        let isSampled = options.sample != nil
        options.progress = { done in
            // Skipped objects are not read; the total of a sample is an estimate already.
            let left = isSampled ? nil : total.map { max($0 - done.skippedBytes, done.bytes) }
            bar.report(done.bytes, of: left)
        }
        if flag("json-lines") { options.found = { stream($0) } }
        var told: RepairPlan?
        let report =
            isRepairing
            ? try versions.repair(options, from: source) { plan in
                bar.finish()
                told = plan
                show(plan, isDryRun: isDryRun)
                return !isDryRun
            } : try versions.check(options)
        return CheckOutcome(
            report: report, options: options, plan: told, isRepairing: isRepairing,
            isDryRun: isDryRun,
            isRepairable: try isRepairing || versions.canRepair(report.findings),
            isReadOnly: try versions.fileSystem.freeSpace(versions.directories.root.raw).isReadOnly)
    }

    /// Does the check given; what keeps it from being made is found in its place, and mended by a repair first.
    fileprivate func clearing(
        _ source: StoreSource, isRepairing: Bool, _ isDryRun: Bool,
        _ check: () throws -> CheckOutcome
    ) throws -> CheckOutcome {
        do {
            return try check()
        } catch let error as StoreError
            where [.io, .permission, .notOwner, .index].contains(error.code)
        {
            let path = try existingStorePath(from: source)
            let found = try Store.checkAccess(at: path, repairing: false)
            guard !found.isEmpty else { throw error }
            let plan = isRepairing ? RepairPlan(before: found) : nil
            var left = CheckOutcome(
                report: CheckReport(), options: try checkOptions(), plan: plan,
                isRepairing: isRepairing, isDryRun: isDryRun)
            left.report.findings = found
            if let plan { show(plan, isDryRun: isDryRun) }
            guard isRepairing, !isDryRun else { return left }
            let repaired = try Store.checkAccess(at: path, repairing: true)
            do {
                var outcome = try check()
                outcome.report.findings = repaired + outcome.report.findings
                return outcome
            } catch let error as StoreError
                where [.io, .permission, .notOwner, .index].contains(error.code)
                && repaired.contains(where: { !$0.isRepaired })
            {
                // What is left of it keeps the check from being made still.
                left.report.findings = repaired
                return left
            }
        }
    }
}

extension CheckReport {
    /// The exit status after fsck(8).
    fileprivate var status: ExitStatus {
        .ofCheck(problemCount: findings.count, leftCount: findings.count { !$0.isRepaired })
    }
}
