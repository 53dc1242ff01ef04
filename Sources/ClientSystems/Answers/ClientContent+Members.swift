package import Archives
import HotPush
package import Platform
package import VersionTree

extension ClientContent {
    /// A file as a member of an archive.
    /// - Throws: `.badPointer` if the facts do not know its object.
    package func member(
        _ entry: Manifest.Entry, at path: String
    ) throws(StoreError) -> ZipMember {
        if entry.byteCount == 0 {
            return ZipMember(
                path: path, isExecutable: entry.isExecutable, byteCount: 0, crc32: 0,
                content: .bytes([]))
        }
        guard let facts = facts[entry.address] else {
            throw StoreError(
                .badPointer,
                "the facts of version \(manifest.version) do not know \(printable(path)): "
                    + "publish the version again", object: entry.address)
        }
        return ZipMember(
            path: path, isExecutable: entry.isExecutable, byteCount: entry.byteCount,
            crc32: facts.crc32,
            content: facts.twin.map { .twin($0.address, byteCount: $0.byteCount) }
                ?? .object(entry.address))
    }
}
