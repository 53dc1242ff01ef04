import CASStore
import HotPush
import VersionTree

/// A format whose document is the name of a version; the rest is said beforehand.
struct KnownFormat: ReleaseFormat {
    let name = "known"
    let number = 1
    var files: [ReleaseFile]
    var audience = Audience()
    /// What the document says instead.
    var other: FormatAnswer?

    init(_ files: ReleaseFile...) { self.files = files }

    func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        [ReleaseDocument(path: "version.txt", accept: "text/plain")]
    }

    func recognizes(_ bytes: [UInt8]) -> Bool { false }

    func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release {
        var release = Release(
            family: family, version: try VersionName(String(decoding: bytes, as: UTF8.self)),
            trust: .length, received: bytes)
        release.files = files
        release.audience = audience
        return release
    }

    func answer(
        _ bytes: [UInt8], _ context: ReleaseContext
    ) throws(StoreError) -> FormatAnswer {
        if let other { return other }
        return .release(try read(bytes, context))
    }
}
