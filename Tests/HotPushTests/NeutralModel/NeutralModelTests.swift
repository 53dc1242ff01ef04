import CASStore
import StorageTestSupport
import StrictJSON
import Testing
import VersionTree

@testable import HotPush

/// What docs/for-plugin-authors.md says of other systems: the neutral model holds their documents without
/// loss, and so can give them back.
@Suite("The neutral model") struct NeutralModelTests {
    static var systems: [any ForeignSystem.Type] {
        [
            Expo.self, CodePush.self, ChCP.self, Capgo.self, Ionic.self, Capawesome.self,
            HotUpdater.self, Shorebird.self, Pushy.self, Electron.self, Workbox.self,
            AppCache.self,
        ]
    }

    @Test("holds what other systems say without loss")
    func lossless() throws {
        for system in Self.systems {
            let document = try system.sample
            #expect(try system.write(try system.read(document)) == document, "\(system)")
        }
    }

    @Test("has rules that releases of other systems keep")
    func valid() throws {
        for system in Self.systems {
            let release = try system.read(try system.sample)
            #expect(throws: Never.self, "\(system)") { try release.validate(origin: nil) }
        }
    }

    @Test("makes a manifest that keeps names, types and labels, and no checksum")
    func manifest() throws {
        for system in Self.systems {
            let release = try system.read(try system.sample)
            let content = ArrivedContent(address: try address(of: "some"), byteCount: 4)
            let manifest = try release.manifest(ordinal: 1, createdAt: 0) { _ in content }
            let again = try Manifest(parsing: manifest.serialized())
            #expect(Array(again.entries) == Array(manifest.entries), "\(system)")
        }
        let expo = try Expo.read(try Expo.sample)
        let content = ArrivedContent(address: try address(of: "some"), byteCount: 4)
        let entries = try expo.manifest(ordinal: 1, createdAt: 0) { _ in content }.entries
        let image = try #require(entries.first { $0.path.description.hasSuffix(".png") })
        let foreign = JSONValue.object(image.foreign)
        #expect(foreign["key"]?.asString == "4f1cb2cac2370cd5050681232e8575a8")
        #expect(foreign["mediaType"]?.asString == "image/png")
        let pushy = try Pushy.read(try Pushy.sample)
        let bare = try pushy.manifest(ordinal: 1, createdAt: 0) { _ in content }
        #expect(bare.entries.allSatisfy { $0.labels.isEmpty })
    }

    static let bad: [(String, String, @Sendable (inout Release) -> Void)] = [
        ("no source", "nothing says where", { $0.files[0].sources = [] }),
        ("signed, without signature", "has no signature", { $0.trust = .signed }),
        (
            "a field of castree's own", "castree sets itself",
            { $0.files[0].sources[0].fields = [.init("Range", "bytes=0-1")] }
        ),
        (
            "a field with a line end", "line end or NUL",
            { $0.files[0].sources[0].fields = [.init("x", "a\r\nHost: b")] }
        ),
        (
            "a field without a name", "no name",
            { $0.files[0].sources[0].fields = [.init("", "a")] }
        ),
        (
            "a field with a colon", "no name",
            { $0.files[0].sources[0].fields = [.init("x: y", "a")] }
        ),
    ]

    @Test("refuses what cannot be asked for or is not so", arguments: 0..<bad.count)
    func refuses(_ number: Int) throws {
        let (name, words, change) = Self.bad[number]
        var release = Release(
            family: "list/1", version: try VersionName("1"), trust: .digest, received: [])
        release.files = [ReleaseFile(path: try TreePath("index.html"))]
        change(&release)
        let error = #expect(throws: StoreError.self, "\(name)") {
            try release.validate(origin: nil)
        }
        #expect(error?.code == .badRelease)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test("refuses a second source without TLS, if the release came by it")
    func secure() throws {
        var release = Release(
            family: "list/1", version: try VersionName("1"), trust: .digest, received: [])
        release.files = [ReleaseFile(path: try TreePath("index.html"))]
        release.files[0].sources.append(ContentSource("http://h.example/index.html"))
        #expect(throws: StoreError.self) { try release.validate(origin: OriginURL("https://h/")) }
        #expect(throws: Never.self) { try release.validate(origin: OriginURL("http://h/")) }
    }
}
