import CASStore
import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let missing = Command(
        "missing", summary: "lists the objects that a version is missing",
        discussion: """
            Objects are missing if they are not downloaded yet, or if a repair removed them \
            because they were damaged. Pull or add the same content again to restore them. The \
            publisher's manifest is an object, too, although no path shows it: it is counted here, \
            in 'versions' and in 'status'.

                castree missing 42
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        let entries = try invocation.openStore().missing(of: name)
        let byteCount = entries.reduce(Int64(0)) { $0.addingClamped($1.bytes) }
        let isLowerBound = entries.contains { !$0.isSizeKnown }
        return try invocation.report { writer in
            writer.member("version", name)
            writer.member("objects", entries) { writer, entry in
                writer.member("address", entry.address.description)
                writer.member("label", entry.label?.description)
                writer.member("bytes", entry.bytes)
                writer.member("sizeKnown", entry.isSizeKnown)
                writer.member("paths", entry.paths)
            }
            writer.member("bytes", byteCount)
            writer.member("isLowerBound", isLowerBound)
        } text: { output in
            guard !entries.isEmpty else {
                output.print("Version \(name) is complete.")
                return
            }
            entries.print(to: output, invocation.sizes)
            let objects = counted(entries.count, "object")
            let size = invocation.sizes.text(byteCount)
            let least =
                byteCount == 0 ? "of unknown size" : "at least \(size); some sizes are unknown"
            let words = isLowerBound ? least : size
            output.print("Version \(name) is missing \(objects), \(words).")
        }
    }
}

extension [MissingEntry] {
    fileprivate func print(to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([.left("ADDRESS"), .right("SIZE"), .left("SHOWN AS")])
        for entry in self {
            let others = entry.paths.count > 1 ? " and \(entry.paths.count - 1) more" : ""
            table.add([
                "\(entry.address.shortDescription)",
                "\(entry.isSizeKnown ? sizes.text(entry.bytes) : "unknown")",
                "\((entry.paths.first ?? "nothing") + others)",
            ])
        }
        table.print(to: output)
    }
}
