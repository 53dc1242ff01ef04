import StorageTestSupport

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

    @Test func `holds what other systems say without loss`() throws {
        for system in Self.systems {
            for document in try system.samples {
                try expect(system.write(try system.read(document)), equals: document, "\(system)")
            }
        }
    }

    @Test func `has rules that releases of other systems keep`() throws {
        for system in Self.systems {
            for release in try system.releases {
                #expect(throws: Never.self, "\(system)") { try release.validate(origin: nil) }
            }
        }
    }

    @Test("makes a manifest that keeps paths, routes, labels, names, types and what else is said")
    func manifest() throws {
        let content = FetchedContent(address: try address(of: "some"), byteCount: 4)
        for system in Self.systems {
            for release in try system.releases {
                let made = try release.manifest(ordinal: 1, createdAt: 0) { position in
                    let file = release.files[position]
                    let named = file.labels.first { $0.algorithm == .sha256 }
                    return FetchedContent(
                        address: file.address ?? named.flatMap { ObjectID(bytes: $0.bytes) }
                            ?? content.address,
                        byteCount: file.byteCount ?? content.byteCount)
                }
                let manifest = try Manifest(parsing: made.serialized())
                for file in release.files {
                    let entry = try require(manifest[file.path], "\(system)")
                    expect(entry.routes, equals: file.routes)
                    let labels = file.labels.filter { $0.algorithm != .crc32 }
                    expect(Set(entry.labels), equals: Set(labels), "\(system)")
                    let foreign = JSONValue.object(entry.foreign)
                    expect(foreign["key"]?.asString, equals: file.key)
                    expect(foreign["mediaType"]?.asString, equals: file.mediaType)
                    for case .unknownDigest(let name, let text) in file.checks {
                        let said = foreign["checks"]?.asArray?.compactMap(\.asString)
                        expect(said?.contains("\(name):\(text)"), equals: true)
                    }
                    expect(!file.contradicts(entry))
                }
                // What a manifest calls so itself is in the bytes that came only.
                for member in release.foreign where member.key != "createdAt" {
                    expect(
                        manifest.foreign.contains { $0.key == member.key },
                        "\(system) \(member.key)")
                }
            }
        }
    }

    @Test(
        "tells two documents of one version by what is said of a file, though it names no content")
    func opaque() throws {
        let content = FetchedContent(address: try address(of: "some"), byteCount: 4)
        for system in [Workbox.self, Pushy.self] as [any ForeignSystem.Type] {
            var release = try require(try system.releases.first)
            let manifest = try release.manifest(ordinal: 1, createdAt: 0) { _ in content }
            let entry = try require(manifest[release.files[0].path])
            release.files[0].checks = release.files[0].checks.map { check in
                switch check {
                case .unknownDigest(let name, _): .unknownDigest(algorithm: name, text: "new")
                case .digest(let label) where label.algorithm == .crc32:
                    .digest(Label(.crc32, bytes: [0, 0, 0, 1]) ?? label)
                default: check
                }
            }
            expect(release.files[0].contradicts(entry), "\(system)")
        }
    }

    static let bad: [(String, String, @Sendable (inout Release) -> Void)] = [
        ("no source", "has 0 sources", { $0.files[0].sources = [] }),
        (
            "too many sources", "65 sources",
            { $0.files[0].sources = .init(repeating: ContentSource("a"), count: 65) }
        ),
        (
            "a plain source with checks of its own", "belong to the file",
            {
                $0.files[0].sources[0].checks = [.unknownDigest(algorithm: "crc64", text: "0")]
            }
        ),
        (
            "proved, with a file that nothing proves", "nothing proves",
            {
                $0.files.append(ReleaseFile(path: $0.files[0].path))
                $0.files[1].path = (try? TreePath("b")) ?? $0.files[1].path
            }
        ),
        ("signed, without signature", "has no signature", { $0.trust = .signed }),
        (
            "a field of castree's own", "castree sets itself",
            { $0.files[0].sources[0].fields = [.init("Range", "bytes=0-1")] }
        ),
        (
            "a field with a line end", "line end or NUL",
            { $0.files[0].sources[0].fields = [.init("x", "a\r\nHost: b")] }
        ),
        ("a field without a name", "no name", { $0.files[0].sources[0].fields = [.init("", "a")] }),
        (
            "a field with a colon", "no name",
            { $0.files[0].sources[0].fields = [.init("x: y", "a")] }
        ),
    ]

    @Test(arguments: 0..<bad.count)
    func `refuses what cannot be asked for or is not so`(_ number: Int) throws {
        let (name, words, change) = Self.bad[number]
        var release = Release(
            family: "list/1", version: try VersionName("1"), trust: .digest, received: [])
        release.files = [
            ReleaseFile(path: try TreePath("index.html"), address: try address(of: "a"))
        ]
        change(&release)
        expectRefusal(.badRelease, "\(name)", saying: words) { try release.validate(origin: nil) }
    }

    @Test func `refuses a second source without TLS, if the release came by it`() throws {
        var release = Release(
            family: "list/1", version: try VersionName("1"), trust: .length, received: [])
        release.files = [ReleaseFile(path: try TreePath("index.html"))]
        release.files[0].sources.append(ContentSource("http://h.example/index.html"))
        #expect(throws: StoreError.self) { try release.validate(origin: OriginURL("https://h/")) }
        #expect(throws: Never.self) { try release.validate(origin: OriginURL("http://h/")) }
    }
}
