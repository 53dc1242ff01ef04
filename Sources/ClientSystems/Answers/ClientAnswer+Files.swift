import Platform
import VersionTree

extension ClientAnswer {
    /// A file of a version under a URL that never has another one.
    static func file(_ entry: Manifest.Entry) -> ClientAnswer {
        let type = MediaType.known(entry.path.description.utf8) ?? .unknown
        // An origin may be without the empty object.
        return .immutable(
            type.contentType(withCharset: true),
            entry.byteCount == 0
                ? .bytes([]) : .object(entry.address, byteCount: entry.byteCount))
    }
}
