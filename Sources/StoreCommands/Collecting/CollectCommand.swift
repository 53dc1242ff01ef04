internal import CASStore
package import Console
package import VersionTree

extension Command {
    /// `gc`: retires versions by a policy, if one is given, and collects what nothing references.
    /// - Parameter observed: lets an observer notice what is done to the store.
    package static func collect(
        from source: StoreSource,
        observed: @escaping @Sendable (VersionStore) -> VersionStore = { $0 }
    ) -> Command {
        Command(
            "gc", summary: "deletes what no version references",
            discussion: """
                Deletes the objects that only retired versions used, partial downloads that no \
                version waits for, damaged objects in quarantine, and what packs were made of for \
                buckets to which nothing was published for 30 days. Its cost depends on the \
                garbage, not on the size of the store. It runs safely beside everything else and \
                works on a full disk.

                With --keep, --keep-good, --older-than or --max-size it retires versions first. A \
                version that is current, pending, embedded, protected or shown to a page always \
                stays; while no version is current, so does the newest. What has proved good stays \
                unless --keep-good says how many of those do; alone, it also keeps what is newer \
                than the current version. If several options are given, a version goes only if \
                each lets it go. --max-size retires the oldest first, and no more than it must; it \
                counts the content of objects, as 'du' prints it.

                To see what would go, and why:
                    \(source.example("gc --dry-run --keep 5"))
                For a timer, on a small disk:
                    \(source.example("gc --older-than 30d --max-size 20G --quiet"))
                """,
            arguments: source.arguments,
            options: [
                .integer(
                    "keep", in: 0...1_000_000,
                    "retire all versions but the newest N and those that are needed"),
                .integer(
                    "keep-good", in: 1...1000,
                    "of the versions that have proved good keep the newest N, the current one among them; else all of them"
                ),
                .text(
                    "older-than", placeholder: "TIME",
                    "retire versions registered longer ago than this: 90s, 30m, 24h, 7d"),
                .text(
                    "max-size", placeholder: "BYTES",
                    "retire the oldest versions until objects take no more than this: 500M, 20G"),
                .flag("dry-run", "print what would be retired and deleted, and change nothing"),
            ],
            statuses: .store
        ) { invocation in
            let policy = try invocation.retentionPolicy()
            let versions = observed(try invocation.openStore(from: source))
            let retention = try policy.map { try versions.planRetention($0) }
            if invocation.flag("dry-run") {
                let names = retention.map { $0.retired.reversed().map(\.version) } ?? []
                try invocation.report(
                    try versions.planCollection(retiring: names), retention, policy,
                    trees: try TreeSizes(of: names, in: versions))
                return .done
            }
            // Before they are gone.
            let trees = try retention.map {
                try TreeSizes(of: $0.retired.map(\.version), in: versions)
            }
            let outcome = try retention.map { try versions.carryOut($0) } ?? RetentionOutcome()
            let bar = invocation.progress("Collecting", unit: .count("objects"))
            defer { bar.finish() }
            let collected = try versions.collect { bar.report($0.objectCount) }
            bar.finish()
            let stuck = versions.store.stuckLeftovers
            try invocation.report(
                collected, outcome, retention, policy, trees: trees, leftovers: stuck)
            return outcome.stuck.isEmpty && stuck.isEmpty ? .done : .failed
        }
    }
}

extension Invocation {
    fileprivate func retentionPolicy() throws(CommandError) -> RetentionPolicy? {
        let (keep, age) = (try integer("keep"), try seconds("older-than"))
        let (size, good) = (try byteCount("max-size"), try integer("keep-good"))
        guard keep != nil || age != nil || size != nil || good != nil else { return nil }
        var policy = RetentionPolicy()
        policy.newestCount = keep ?? 0
        policy.goodCount = good
        // Thinning out only the good versions must not retire those that have not been shown yet.
        policy.keepsNewer = good != nil && keep == nil
        policy.minimumAge = age
        policy.byteCountMax = size
        return policy
    }
}
