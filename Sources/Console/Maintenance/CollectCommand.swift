internal import CASStore
internal import StrictJSON
package import VersionTree

extension Command {
    /// `gc`: collects what nothing references.
    ///
    /// - Parameter observed: makes somebody notice what is done to the store.
    package static func collect(
        from source: StoreSource,
        observed: @escaping @Sendable (VersionStore) -> VersionStore = { $0 }
    ) -> Command {
        Command(
            "gc", summary: "deletes what no version references",
            discussion: """
                Versions are retired first; gc then deletes the objects that only they used, partial \
                downloads that no version waits for, and damaged objects in quarantine. It costs what \
                the garbage costs, not what the store holds, and runs safely beside everything else.

                What would go, before it goes:
                    \(source.example("gc --dry-run"))
                """,
            arguments: source.arguments,
            options: [.flag("dry-run", "print what would be deleted, and delete nothing")],
            exitStatusHelp: ExitStatus.standardHelp, statuses: .standard
        ) { invocation in
            let versions = observed(try invocation.openStore(from: source))
            if invocation.flag("dry-run") {
                try invocation.report(try versions.store.planCollection())
                return .done
            }
            let tracker = ProgressTracker(
                invocation.progress("Collecting", total: nil, unit: .count("objects")))
            defer { tracker.finish() }
            let collected = try versions.collect { tracker.report($0.objectCount) }
            tracker.finish()
            try invocation.report(collected)
            return .done
        }
    }
}

/// How many of the objects to be deleted are shown, the largest first.
private let shownGarbageCount = 10

extension CollectionPlan {
    fileprivate var groups: [(name: String, meaning: String, files: [Garbage])] {
        [
            ("unreferenced", "in no version", objects),
            ("quarantined", "damaged, in quarantine", quarantined),
            ("staged", "partial, waited for by no version", staged),
        ]
    }

    fileprivate var largest: [Garbage] {
        let all = objects + quarantined + staged
        return Array(all.sorted { $0.byteCount > $1.byteCount }.prefix(shownGarbageCount))
    }
}

extension Invocation {
    fileprivate func report(_ collected: Collected) throws {
        try report { writer in
            writer.object { writer in
                writer.member("objects", collected.objectCount)
                writer.member("bytes", collected.byteCount)
                writer.member("dryRun", false)
            }
        } text: { output in
            if collected.objectCount == 0 {
                output.print("There was nothing to delete.")
            } else {
                let size = sizes.text(collected.byteCount)
                output.print("Deleted \(counted(collected.objectCount, "object")), \(size).")
            }
        }
    }

    fileprivate func report(_ plan: CollectionPlan) throws {
        try report { writer in
            writer.object { writer in
                writer.member("objects", plan.objectCount)
                writer.member("bytes", plan.byteCount)
                writer.member("dryRun", true)
                for group in plan.groups {
                    writer.member(group.name) { writer in
                        writer.member("objects", group.files.count)
                        writer.member("bytes", group.files.reduce(0) { $0 + $1.byteCount })
                    }
                }
                writer.member("largest", plan.largest) { writer, garbage in
                    writer.object { writer in
                        writer.member("address", garbage.address.description)
                        writer.member("bytes", garbage.byteCount)
                    }
                }
            }
        } text: { output in
            print(plan, to: output)
        }
    }

    private func print(_ plan: CollectionPlan, to output: Output) {
        guard plan.objectCount > 0 else {
            output.print("There is nothing to delete.")
            return
        }
        let size = sizes.text(plan.byteCount)
        output.print("Would delete \(counted(plan.objectCount, "object")), \(size):")
        var groups = TextTable([.left(""), .right(""), .right(""), .left("")])
        for group in plan.groups where !group.files.isEmpty {
            let bytes = group.files.reduce(0) { $0 + $1.byteCount }
            groups.add([
                "", "\(groupedCount(group.files.count))", "\(sizes.text(bytes))",
                "\(group.meaning)",
            ])
        }
        groups.print(to: output)
        output.print(plan.objectCount > shownGarbageCount ? "The largest of them:" : "They are:")
        var largest = TextTable([.left(""), .right(""), .left("")])
        for garbage in plan.largest {
            largest.add(["", "\(sizes.text(garbage.byteCount))", "\(garbage.address)"])
        }
        largest.print(to: output)
    }
}
