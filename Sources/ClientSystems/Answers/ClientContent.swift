import Archives
import CASStore
import HotPush
import VersionTree

struct ClientContent: Sendable {
    var manifest: Manifest
    var facts: ContentFacts

    /// Whether an answer naming all files takes about a millisecond to write, too long to make other requests wait.
    var isLong: Bool { manifest.count > 500 }

    var paths: [String] { manifest.entries.map(\.path.description) }

    /// - Throws: `.badPointer` if the facts do not know the file's object: they are another version's, or damaged.
    func facts(of entry: Manifest.Entry, at path: String? = nil) throws(StoreError) -> ObjectFacts {
        guard let known = facts[entry.address] else {
            throw StoreError(
                .badPointer,
                "the facts of version \(manifest.version) do not know \(printable(path ?? entry.path.description)): "
                    + "publish the version again", object: entry.address)
        }
        return known
    }

    /// Files as members of an archive, below a folder that ends with a slash.
    /// - Throws: `.badPointer` if the facts do not know an object.
    func members(
        _ entries: some Sequence<Manifest.Entry>, below folder: String = ""
    ) throws(StoreError) -> [ZipMember] {
        var members: [ZipMember] = []
        for entry in entries {
            let path = folder + entry.path.description
            var crc32: UInt32 = 0
            var body = ZipMember.Content.bytes([])
            if entry.byteCount > 0 {
                let facts = try facts(of: entry, at: path)
                crc32 = facts.crc32
                body =
                    facts.deflatedCopy.map { .deflatedCopy($0.address, byteCount: $0.byteCount) }
                    ?? .object(entry.address)
            }
            members.append(
                ZipMember(
                    path: path, isExecutable: entry.isExecutable, byteCount: entry.byteCount,
                    crc32: crc32, content: body))
        }
        return members
    }
}
