import HotPush
import StorageTestSupport

/// A format whose document is the name of a version; the rest is said beforehand.
struct KnownFormat: ReleaseFormat {
    let name = "known"
    let number = 1
    var files: [ReleaseFile]
    var audience = Audience()
    /// Contents that it refuses when it looks at them.
    var refused: Set<String> = []
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

    func inspect(
        _ file: ReleaseFile, _ bytes: [UInt8], of release: Release, _ context: ReleaseContext
    ) throws(StoreError) -> AppIdentity? {
        guard refused.contains(String(decoding: bytes, as: UTF8.self)) else { return nil }
        throw StoreError(.badRelease, "\(file.path) has a bad signature")
    }

    func answer(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> FormatAnswer {
        if let other { return other }
        return .release(try read(bytes, context))
    }
}

extension PullingFixture {
    /// Serves a version for ``KnownFormat``, and forgets what was asked for before.
    func offer(_ version: String, _ contents: [String: Content]) {
        var all = contents
        all["/version.txt"] = Content(version)
        origin.replaceAll(all)
        origin.forgetRequests()
    }

    /// What was asked for since something was offered, but for the version.
    var asked: [String] { origin.requests.map(\.path).filter { $0 != "/version.txt" } }

    func run(_ format: KnownFormat, parallel: Int = 4) throws -> PullReport {
        try run(parallel: parallel) { $0.reader = format }
    }
}
