public import VersionTree

/// Which versions a store can do without: a value, decided without changing anything.
public struct RetentionPlan: Sendable, Hashable {
    /// What is decided about a version, and why.
    public struct Verdict: Sendable, Hashable {
        /// The version.
        public var version: String
        /// Why it is kept or retired, as people say it.
        public var reason: String

        /// Makes a verdict.
        public init(_ version: String, _ reason: String) {
            self.version = version
            self.reason = reason
        }
    }

    /// What is kept, newest first.
    public private(set) var kept: [Verdict] = []
    /// What can be retired, newest first.
    public private(set) var retired: [Verdict] = []

    /// Decides.
    ///
    /// - Parameters:
    ///   - versions: all that are registered, newest first, as ``VersionStore/versions()`` lists them.
    ///   - pinned: what some process shows to a page.
    ///   - goodCount: how many versions that have proved good are kept, the current one among them; at
    ///     least 1.
    public init(
        _ versions: [VersionSummary], _ lifecycle: Lifecycle, pinned: Set<String>, goodCount: Int
    ) {
        let usable = Set(versions.filter { $0.state != .incomplete && !$0.isBad }.map(\.version))
        // One that cannot be shown is nothing to go back to, and takes no place.
        let good = lifecycle.knownGood.filter { usable.contains($0) }.prefix(max(1, goodCount))
        var isNewer = versions.contains { $0.version == lifecycle.current }
        for version in versions {
            let name = version.version
            if name == lifecycle.current { isNewer = false }
            let need: String? =
                if lifecycle.current == nil {
                    "no version is current"
                } else if name == lifecycle.current {
                    "it is current"
                } else if name == lifecycle.pending {
                    "it waits for the next start"
                } else if name == lifecycle.embedded {
                    "it was shipped with the app"
                } else if pinned.contains(name) {
                    "a page still has it"
                } else if good.contains(name) {
                    "it is one of the last \(max(1, goodCount)) good versions"
                } else if isNewer, !version.isBad {
                    "it is newer than the current version"
                } else {
                    nil
                }
            if let need {
                kept.append(Verdict(name, need))
            } else {
                retired.append(Verdict(name, Self.excuse(version, goodCount)))
            }
        }
    }

    private static func excuse(_ version: VersionSummary, _ goodCount: Int) -> String {
        if version.isBad { return "it is banned" }
        if version.state == .incomplete {
            return "it is incomplete, and older than the current version"
        }
        if version.isKnownGood { return "\(max(1, goodCount)) newer versions are good" }
        return "it is older than the current version"
    }
}
