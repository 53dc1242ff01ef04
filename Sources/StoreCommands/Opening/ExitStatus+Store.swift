package import Console

extension ExitStatus {
    /// The origin's answer is older than one seen before: a cache or mirror is behind.
    package static let olderCopy = ExitStatus(rawValue: 21)
    /// A mandatory release was fetched and waits for the next start.
    package static let mandatoryWaits = ExitStatus(rawValue: 25)
}

/// The exit statuses of checks, after fsck(8).
extension ExitStatus {
    /// A check found nothing wrong.
    package static let clean = ExitStatus(rawValue: 0)
    /// A check found problems and repaired every one.
    package static let repaired = ExitStatus(rawValue: 1)
    /// A check left problems.
    package static let problemsLeft = ExitStatus(rawValue: 4)
    /// A check could not be made.
    package static let unchecked = ExitStatus(rawValue: 8)
    /// The command line of a check was wrong.
    package static let checkUsage = ExitStatus(rawValue: 16)

    package static func ofCheck(problemCount: Int, leftCount: Int) -> ExitStatus {
        if problemCount == 0 { return .clean }
        return leftCount == 0 ? .repaired : .problemsLeft
    }
}

extension ExitStatuses {
    /// The statuses of a program, without those that only one command has.
    package static let program = ExitStatuses(
        help: failures + [
            (.untrusted, "not trusted: a signature is missing or wrong, or its key is unknown")
        ] + endings)

    package static let store = ExitStatuses(help: failures + endings)

    package static let pull = ExitStatuses(
        help: (failures + [
            (.banned, "the offered release is banned here"),
            (.olderCopy, "the origin's answer is older than one seen before"),
            (
                .untrusted,
                "not trusted: a digest or signature is wrong, or the signing key is unknown"
            ),
            (.offline, "the origin cannot be reached"),
            (.mandatoryWaits, "a mandatory release is pending until the next start"),
        ] + endings).sorted { $0.status.rawValue < $1.status.rawValue })

    package static let served = ExitStatuses(
        help: failures + [(.offline, "the origin cannot be reached")] + endings)

    private static let failures: [(status: ExitStatus, meaning: String)] = [
        (.done, "done"),
        (.failed, "the operation failed; the message says why"),
        (.usage, "the command line was wrong"),
        (.notFound, "not found: the version, object, store or origin that you named"),
    ]
    private static let endings: [(status: ExitStatus, meaning: String)] = [
        (.busy, "another process held the store for longer than --wait"),
        (.interrupted, "interrupted"),
    ]

    /// The statuses of checks, after fsck(8): a store that does not exist, or that another process keeps, cannot be
    /// checked.
    package static let check = ExitStatuses(
        [
            .failed: .unchecked, .usage: .checkUsage, .notFound: .unchecked, .busy: .unchecked,
        ],
        help: [
            (.clean, "nothing is wrong"),
            (.repaired, "problems were found, and all were repaired"),
            (.problemsLeft, "problems remain"),
            (.unchecked, "the check could not be made"),
            (.checkUsage, "the command line was wrong"),
            (.interrupted, "interrupted"),
        ])
}
