internal import CASStore
internal import Console
internal import StrictJSON
internal import VersionTree

/// How many of the objects to be deleted are shown, the largest first.
private let shownGarbageCount = 10

extension CollectionPlan {
    fileprivate var groups: [(name: String, meaning: String, files: [Garbage])] {
        [
            ("unreferenced", "in no version that stays", objects),
            ("quarantined", "damaged, in quarantine", quarantined),
            ("staged", "partial; no version waits for them", staged),
        ]
    }

    fileprivate var largest: [Garbage] {
        let all = objects + quarantined + staged
        return Array(all.sorted { $0.byteCount > $1.byteCount }.prefix(shownGarbageCount))
    }

    fileprivate func freed() -> [String: (bytes: Int64, diskBytes: Int64)] {
        var counts: [String: (bytes: Int64, diskBytes: Int64)] = [:]
        for garbage in objects {
            guard case .retiring(let version) = garbage.reason else { continue }
            counts[version, default: (0, 0)].bytes += garbage.byteCount
            counts[version, default: (0, 0)].diskBytes += garbage.diskByteCount
        }
        return counts
    }
}

extension CollectionPlan.Packing {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("places", places)
        writer.member("bytes", byteCount)
        writer.member("diskBytes", diskByteCount)
    }
}

extension CollectionPlan.Reason {
    fileprivate var code: String {
        switch self {
        case .retired: "retired"
        case .retiring: "retiring"
        case .neverNamed: "neverNamed"
        case .damaged: "damaged"
        case .partial: "partial"
        }
    }

    /// The last version that used it, or still does, if that is known.
    fileprivate var version: String? {
        switch self {
        case .retired(let version): version.name
        case .retiring(let version): version
        case .neverNamed, .damaged, .partial: nil
        }
    }

    fileprivate var text: String {
        switch self {
        case .retired(let version):
            "last in version \(version.name), retired \(timestamp(version.retiredAt))"
        case .retiring(let version): "last in version \(version), which would be retired"
        case .neverNamed: "in no version that the store remembers"
        case .damaged: "damaged"
        case .partial: "partial; no version waits for it"
        }
    }
}

extension Invocation {
    func report(
        _ collected: Collected, _ outcome: RetentionOutcome, _ retention: RetentionPlan?,
        _ policy: RetentionPolicy?, trees: TreeSizes?, leftovers: [StuckLeftover]
    ) throws {
        let retired = outcome.retired
        let diskBytes = collected.diskByteCount + (trees?.sum(of: retired) ?? 0)
        for stuck in outcome.stuck {
            diagnostics.warn(
                code: stuck.error.code.description,
                "version \(stuck.version) could not be retired: \(stuck.error.message)")
        }
        warn(of: retention, policy)
        try report { writer in
            writer.member("objects", collected.objectCount)
            writer.member("bytes", collected.byteCount)
            writer.member("diskBytes", diskBytes)
            writer.member("packing") { collected.packing.writeMembers(to: &$0) }
            writer.member("dryRun", false)
            // What could not be retired, and what could not be removed.
            let stuck =
                outcome.stuck.map {
                    (
                        version: String?.some($0.version), path: String?.none,
                        reason: $0.error.message
                    )
                }
                + leftovers.map {
                    (version: String?.none, path: String?.some($0.path), reason: $0.reason)
                }
            if retention != nil || !stuck.isEmpty {
                writer.member("stuck", stuck) { writer, stuck in
                    writer.member("version", stuck.version)
                    writer.member("path", stuck.path)
                    writer.member("reason", stuck.reason)
                }
            }
            if let retention, let policy {
                let gone = retention.retired.filter { retired.contains($0.version) }
                writer.member("retired", gone) { $1.writeMembers(to: &$0) }
                writer.member("kept", retention.kept) { $1.writeMembers(to: &$0) }
                writeLimit(policy, of: retention, to: &writer)
            }
        } text: { output in
            if let retention {
                if retired.isEmpty, outcome.stuck.isEmpty {
                    output.print("No version may go; --dry-run says why each one stays.")
                }
                for verdict in retention.retired where retired.contains(verdict.version) {
                    output.print("Retired version \(verdict.version): \(verdict.reason).")
                }
                print(good: retention, to: output)
            }
            if let deleted = deleted(collected.objectCount, collected.byteCount, collected.packing)
            {
                output.print("Deleted \(deleted); \(sizes.text(diskBytes)) on disk.")
            } else {
                output.print("There was nothing to delete.")
            }
        }
    }

    /// What is deleted, as the beginning of a sentence; nil if nothing is.
    private func deleted(
        _ objectCount: Int, _ byteCount: Int64, _ packing: CollectionPlan.Packing
    ) -> String? {
        var parts: [String] = []
        if objectCount > 0 {
            parts.append("\(counted(objectCount, "object")), \(sizes.text(byteCount))")
        }
        if packing.places > 0 {
            parts.append(
                "what packs for \(counted(packing.places, "bucket")) were made of, "
                    + sizes.text(packing.byteCount))
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", and ")
    }

    func report(
        _ plan: CollectionPlan, _ retention: RetentionPlan?, _ policy: RetentionPolicy?,
        trees: TreeSizes
    ) throws {
        warn(of: retention, policy)
        let diskBytes = plan.diskByteCount + trees.sum
        try report { writer in
            writer.member("objects", plan.objectCount)
            writer.member("bytes", plan.byteCount)
            writer.member("diskBytes", diskBytes)
            writer.member("packing") { plan.packing.writeMembers(to: &$0) }
            writer.member("dryRun", true)
            for group in plan.groups {
                writer.member(group.name) { writer in
                    writer.member("objects", group.files.count)
                    writer.member("bytes", group.files.reduce(0) { $0 + $1.byteCount })
                }
            }
            writer.member("largest", plan.largest) { writer, garbage in
                writer.member("address", garbage.address.description)
                writer.member("bytes", garbage.byteCount)
                writer.member("reason", garbage.reason.code)
                writer.member("lastVersion", garbage.reason.version)
            }
            guard let retention, let policy else { return }
            let freed = plan.freed()
            writer.member("retired", retention.retired) { writer, verdict in
                let (bytes, diskBytes) = freed[verdict.version] ?? (0, 0)
                verdict.writeMembers(to: &writer)
                writer.member("bytes", bytes)
                writer.member("diskBytes", diskBytes + trees[verdict.version])
            }
            writer.member("kept", retention.kept) { $1.writeMembers(to: &$0) }
            writeLimit(policy, of: retention, to: &writer)
        } text: { output in
            if let retention {
                print(retention, plan, trees, to: output)
                print(good: retention, to: output)
            }
            print(plan, diskBytes, to: output)
        }
    }

    private func writeLimit(
        _ policy: RetentionPolicy, of retention: RetentionPlan, to writer: inout JSONWriter
    ) {
        guard let limit = policy.byteCountMax, let byteCount = retention.byteCount else { return }
        writer.member("maxBytes", limit)
        writer.member("bytesLeft", byteCount)
    }

    /// Warns that a limit of bytes is not met, and names what holds them.
    private func warn(of retention: RetentionPlan?, _ policy: RetentionPolicy?) {
        guard let retention, let limit = policy?.byteCountMax, let byteCount = retention.byteCount,
            byteCount > limit
        else { return }
        let shown = retention.kept.prefix(Self.shownHolderCount)
        var holders = shown.map { "\($0.version) (\($0.reason))" }
        if retention.kept.count > shown.count {
            holders.append("\(groupedCount(retention.kept.count - shown.count)) more")
        }
        diagnostics.warn(
            code: "limitNotMet",
            "the objects still take \(sizes.text(byteCount)), more than \(sizes.text(limit)), but no other "
                + "version may go; these stay: \(holders.joined(separator: ", "))")
    }

    private static let shownHolderCount = 10

    /// Reports how many versions stay because they have proved good, and how to keep fewer.
    private func print(good retention: RetentionPlan, to output: Output) {
        guard retention.goodCount > 0 else { return }
        let count = counted(retention.goodCount, "version")
        let verb = retention.goodCount == 1 ? "stays" : "stay"
        output.print("\(count) \(verb), known good; --keep-good N keeps fewer.")
    }

    private func print(
        _ retention: RetentionPlan, _ plan: CollectionPlan, _ trees: TreeSizes,
        to output: Output
    ) {
        let freed = plan.freed()
        if retention.retired.isEmpty {
            output.print("No version may go.")
        } else {
            output.print("Would retire \(counted(retention.retired.count, "version")):")
        }
        let retired: [[DisplayText]] = retention.retired.map { verdict in
            let (bytes, diskBytes) = freed[verdict.version] ?? (0, 0)
            let onDisk = sizes.text(diskBytes + trees[verdict.version])
            return [
                "", "\(verdict.version)", "\(sizes.text(bytes)),", "\(onDisk) on disk",
                "\(verdict.reason)",
            ]
        }
        TextTable([.left(""), .left(""), .right(""), .right(""), .left("")], rows: retired)
            .print(to: output)
        if !retention.kept.isEmpty {
            output.print("Would keep \(counted(retention.kept.count, "version")):")
        }
        TextTable(
            [.left(""), .left(""), .left("")],
            rows: retention.kept.map { ["", "\($0.version)", "\($0.reason)"] }
        ).print(to: output)
    }

    private func print(_ plan: CollectionPlan, _ diskBytes: Int64, to output: Output) {
        guard let deleted = deleted(plan.objectCount, plan.byteCount, plan.packing) else {
            output.print("There is nothing to delete.")
            return
        }
        output.print(
            "Would delete \(deleted); \(sizes.text(diskBytes)) on disk"
                + (plan.objectCount > 0 ? ":" : "."))
        guard plan.objectCount > 0 else { return }
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
        let largest: [[DisplayText]] = plan.largest.map { garbage in
            let size = sizes.text(garbage.byteCount)
            return ["", "\(size)", "\(garbage.address)", "\(garbage.reason.text)"]
        }
        TextTable([.left(""), .right(""), .left(""), .left("")], rows: largest).print(to: output)
    }
}
