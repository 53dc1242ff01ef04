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
            "gc", summary: "deletes objects that no version references",
            discussion: """
                Deletes the objects that only retired versions used, partial downloads that no \
                version needs, damaged objects in quarantine, and the packing data of buckets to \
                which nothing has been published for 30 days. Its cost depends on the amount of \
                garbage, not on the size of the store. It is safe alongside all other commands and \
                works on a full disk.

                With --keep, --keep-good, --older-than or --max-size it retires versions first. A \
                version always stays if it is current, pending, embedded, protected or shown to a \
                page; while no version is current, the newest stays. Versions that proved good \
                stay unless --keep-good limits their number; used alone, it also keeps \
                everything newer than the current version. With several options, a version goes \
                only if each of them allows it. --max-size retires the oldest first, and no more \
                than necessary; it counts the content of objects, as 'du' prints it.

                To see what would be deleted, and why:
                    \(source.example("gc --dry-run --keep 5"))
                From a timer, on a small disk:
                    \(source.example("gc --older-than 30d --max-size 20G --quiet"))
                """,
            arguments: source.arguments,
            options: [
                .integer(
                    "keep", in: 0...1_000_000,
                    "retire all versions except the newest N and those that are needed"),
                .integer(
                    "keep-good", in: 1...1000,
                    "of the versions that proved good, keep only the newest N, including the current one"
                ),
                .text(
                    "older-than", placeholder: "TIME",
                    "retire versions added longer ago than this: 90s, 30m, 24h, 7d"),
                .text(
                    "max-size", placeholder: "BYTES",
                    "retire the oldest versions until objects take at most this: 500M, 20G"),
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
        policy.minimumAge = age.map { .seconds($0) }
        policy.byteCountMax = size
        return policy
    }
}
