package import CASStore
package import Console

/// The figures of a store as a table: the contents and disk usage of each part.
package struct StoreFigures: Sendable {
    let usage: StoreUsage
    let plainDiskBytes: Int64?
    let sizes: SizeStyle

    package init(usage: StoreUsage, plainDiskBytes: Int64? = nil, sizes: SizeStyle) {
        self.usage = usage
        self.plainDiskBytes = plainDiskBytes
        self.sizes = sizes
    }

    package func print(to output: Output) {
        var table = TextTable([.left(""), .right("CONTENT"), .right("ON DISK"), .left("")])
        func add(_ name: String, _ bytes: Int64?, _ diskBytes: Int64?, _ meaning: String) {
            table.add([
                "\(name)", "\(bytes.map { sizes.text($0) } ?? "")",
                "\(diskBytes.map { sizes.text($0) } ?? "")", "\(meaning)",
            ])
        }
        let disk = usage.disk
        add(
            "versions show", usage.apparentBytes, plainDiskBytes,
            "as plain copies; \(ratioText) times the objects")
        add("the store", disk.total.apparentBytes, disk.total.diskBytes, "on disk what du -B1 says")
        addSaving(add)
        for (part, name, meaning) in Self.parts where isWorthALine(part) {
            add(
                name, disk[part].apparentBytes, disk[part].diskBytes,
                meaning ?? "in " + counted(usage.objects, "object"))
        }
        add(
            "unreferenced", usage.unreferencedBytes, usage.unreferencedDiskBytes,
            "of the objects: what gc would free")
        table.print(to: output)
    }

    private static let parts: [(part: DiskUsage.Part, name: String, meaning: String?)] = [
        (.objects, "- objects", nil),
        (.executableCopies, "- executables", "executable files, a second time"),
        (.trees, "- trees", "directories, and files that are no links"),
        (.manifests, "- manifests", "what the versions consist of"),
        (.index, "- index", "derived"),
        (.staging, "- staged", "partial objects"),
        (.quarantine, "- quarantine", "what a repair took away"),
        (.packing, "- packing", "what packs for buckets were made of; derived"),
        (.reserve, "- reserve", "set aside so that gc works on a full disk"),
        (.other, "- other", "lifecycle, log, leases"),
    ]

    private func addSaving(_ add: (String, Int64?, Int64?, String) -> Void) {
        let content = usage.apparentBytes - usage.objectBytes + usage.unreferencedBytes
        guard let plainDiskBytes else {
            if content > 0 { add("saved", content, nil, "compared with plain copies") }
            return
        }
        let saved = plainDiskBytes - usage.diskBytes
        guard saved < 0 else {
            return add("saved", max(content, 0), saved, "compared with plain copies")
        }
        let reserve = usage.disk[.reserve].diskBytes
        add(
            "more", nil, -saved,
            "than plain copies"
                + (reserve > 0 ? ", with the reserve of \(sizes.text(reserve))" : ""))
    }

    /// An empty directory is not.
    private func isWorthALine(_ part: DiskUsage.Part) -> Bool {
        let figures = usage.disk[part]
        return part == .objects || figures.files > 0 || part == .trees && figures.diskBytes > 0
    }

    private var ratioText: String {
        let hundredths = Int((usage.ratio * 100).rounded())
        return "\(hundredths / 100).\(twoDigits(hundredths % 100))"
    }
}
