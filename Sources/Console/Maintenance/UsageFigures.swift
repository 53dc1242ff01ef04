package import CASStore
package import StrictJSON
package import VersionTree

/// What `du` shows: the store, its versions, its largest objects.
package struct UsageFigures: Sendable {
    package let store: StoreUsage
    package let versions: [VersionUsage]
    package let largest: [LargestEntry]

    package init(store: StoreUsage, versions: [VersionUsage], largest: [LargestEntry]) {
        self.store = store
        self.versions = versions
        self.largest = largest
    }

    /// Writes the members of the document.
    package func write(to writer: inout JSONWriter) {
        writer.member("store") { Self.write(store, to: &$0) }
        writer.member("versions", versions) { writer, version in
            writer.object { writer in
                writer.member("version", version.version)
                writer.member("files", version.files)
                writer.member("apparentBytes", version.apparentBytes)
                writer.member("uniqueBytes", version.uniqueBytes)
                writer.member("sharedBytes", version.sharedBytes)
            }
        }
        writer.member("largest", largest) { writer, entry in
            writer.object { writer in
                writer.member("address", entry.object.address.description)
                writer.member("bytes", entry.object.byteCount)
                writer.member("references", entry.object.references)
                writer.member("paths", entry.paths)
            }
        }
    }

    /// Writes the figures of the store.
    package static func write(_ store: StoreUsage, to writer: inout JSONWriter) {
        writer.member("objects", store.objects)
        writer.member("objectBytes", store.objectBytes)
        writer.member("diskBytes", store.diskBytes)
        writer.member("stagedBytes", store.stagedBytes)
        writer.member("unreferencedBytes", store.unreferencedBytes)
        writer.member("apparentBytes", store.apparentBytes)
        writer.key("ratio")
        writer.value(.number("\(store.ratio)"))
    }

    /// Prints everything as tables.
    package func print(to output: Output, _ sizes: SizeStyle) {
        Self.print(store, to: output, sizes)
        if !versions.isEmpty {
            output.print("")
            printVersions(to: output, sizes)
        }
        if !largest.isEmpty {
            output.print("")
            printLargest(to: output, sizes)
        }
    }

    /// Prints the figures of the store.
    package static func print(_ store: StoreUsage, to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([.left(""), .right(""), .left("")])
        func add(_ name: String, _ bytes: Int64, _ meaning: String) {
            table.add(["\(name)", "\(sizes.text(bytes))", "\(meaning)"])
        }
        add("objects", store.objectBytes, "in " + counted(store.objects, "object"))
        add("versions show", store.apparentBytes, "\(ratioText(store.ratio)) times as much")
        add("unreferenced", store.unreferencedBytes, "what gc would free")
        add("staged", store.stagedBytes, "partial objects")
        add("on disk", store.diskBytes, "with trees, manifests and index")
        table.print(to: output)
    }

    private static func ratioText(_ ratio: Double) -> String {
        let hundredths = Int((ratio * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }

    private func printVersions(to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([
            .left("VERSION"), .right("FILES"), .right("APPARENT"), .right("UNIQUE"),
            .right("SHARED"),
        ])
        for version in versions {
            table.add([
                "\(version.version)", "\(groupedCount(version.files))",
                "\(sizes.text(version.apparentBytes))", "\(sizes.text(version.uniqueBytes))",
                "\(sizes.text(version.sharedBytes))",
            ])
        }
        table.print(to: output)
    }

    private func printLargest(to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([
            .left("LARGEST OBJECTS"), .right("SIZE"), .right("VERSIONS"), .left("SHOWN AS"),
        ])
        for entry in largest {
            let others = entry.paths.count > 1 ? " and \(entry.paths.count - 1) more" : ""
            table.add([
                "\(entry.object.address.shortDescription)", "\(sizes.text(entry.object.byteCount))",
                "\(groupedCount(entry.object.references))",
                "\((entry.paths.first ?? "nothing") + others)",
            ])
        }
        table.print(to: output)
    }
}
