import CASStore
import VersionTree

/// In which format an origin was found to describe its releases, where nobody says it: the next time it is asked for
/// that first, with one request in place of one for each format.
///
/// A ``KeptFile``: `castree-format 1 meteor` and a line end. castree's own format is asked for first anyhow.
struct KeptFormat {
    private let file: KeptFile
    /// Whether it may be changed.
    private let isChanging: Bool
    private static let head = "castree-format 1 "

    init(
        _ versions: VersionStore, at origin: OriginLocation, isChanging: Bool
    ) throws(StoreError) {
        // A channel's pointer has a space in its key, and a URL has none.
        file = try KeptFile(versions, origin.description)
        self.isChanging = isChanging
    }

    /// The format; nil if none is known.
    func read() throws(StoreError) -> (any ReleaseFormat)? {
        guard let bytes = try file.read(limit: 64),
            let text = String(validating: bytes, as: UTF8.self), text.hasPrefix(Self.head),
            text.hasSuffix("\n")
        else { return nil }
        let format = ReleaseFormats.named(String(text.dropFirst(Self.head.count).dropLast()))
        return format is CastreeFormat ? nil : format
    }

    /// Remembers a format.
    func keep(_ format: any ReleaseFormat) {
        if isChanging { file.write(Array("\(Self.head)\(format.name)\n".utf8)) }
    }

    /// Forgets it: the origin does not describe its releases so any more.
    func forget() {
        if isChanging { file.remove() }
    }
}
