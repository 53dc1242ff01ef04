import CASStore
import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let show = Command(
        "show", summary: "lists the files of a version",
        discussion: """
            Prints for each file its size, the beginning of its address, 'x' if it is executable, \
            its path, and its routes: further URL paths that serve it. --json prints full \
            addresses.

                castree show 42
                castree show 42 --json | jq -r '.entries[] | .address + "  " + .path'
            """,
        arguments: [.version]
    ) { invocation in
        let manifest = try invocation.openStore().manifest(of: invocation.version())
        if invocation.isJSON {
            try invocation.writeDocument(of: manifest)
        } else {
            invocation.print(manifest)
        }
        try invocation.output.flush()
        return .done
    }
}

extension Invocation {
    /// Writes the document piece by piece: a manifest may have a million entries.
    fileprivate func writeDocument(of manifest: Manifest) throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("version", manifest.version.description)
        writer.member("manifest", try manifest.address().description)
        writer.member("files", manifest.count)
        writer.member("bytes", manifest.byteCount)
        writer.member("createdAt", timestamp(manifest.createdAt))
        writer.key("entries")
        try writer.array(manifest.entries) { writer, entry in
            writer.object { writer in
                writer.member("path", entry.path.description)
                writer.member("routes", entry.routes)
                writer.member("address", entry.address.description)
                writer.member("bytes", entry.byteCount)
                writer.member("executable", entry.isExecutable)
                writer.member("labels", entry.labels.map(\.description))
            }
            if writer.bytes.count > pieceByteCount { try output.write(writer.drain()) }
        }
        writer.endObject()
        try output.write(writer.drain() + [UInt8(ascii: "\n")])
    }

    /// Prints line by line, for the same reason, so the columns are measured first.
    fileprivate func print(_ manifest: Manifest) {
        var width = 0
        for entry in manifest.entries { width = max(width, sizes.text(entry.byteCount).count) }
        for entry in manifest.entries {
            if output.isClosed { return }
            let size = sizes.text(entry.byteCount)
            let padding = String(repeating: " ", count: width - size.count)
            let mark: DisplayText = entry.isExecutable ? "x" : " "
            let routes: DisplayText =
                entry.routes.isEmpty ? "" : "  (\(entry.routes.joined(separator: ", ")))"
            output.print(
                """
                \(padding)\(size)  \(entry.address.shortDescription)  \(mark)  \
                \(entry.path)\(routes)
                """)
        }
        output.print(
            """
            Version \(manifest.version): \(counted(manifest.count, "file")), \
            \(sizes.text(manifest.byteCount)), registered \(timestamp(manifest.createdAt)).
            """)
    }
}

private let pieceByteCount = 65_536

extension Manifest {
    fileprivate func address() throws(StoreError) -> ObjectID {
        var hasher = try ObjectHasher()
        try serialize { (piece) throws(StoreError) in hasher.update(piece.span.bytes) }
        return hasher.finish().address
    }
}
