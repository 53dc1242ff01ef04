import ProgramTestSupport

/// Expo's and hot-updater's clients get patches over the wire, which others apply.
@Suite struct ClientPatchTests {
    let place: Workplace
    /// How Expo's clients know version 1.
    private let base: String
    private static let bundle = "_expo/static/js/ios/A.hbc"
    private static let embedded = "0b7c3f3e-7c58-4d5c-8a53-2d9a4c3f1b11"

    init() throws {
        place = Workplace()
        for number in [1, 2] as [UInt64] { try place.add("\(number)", Self.files(number)) }
        try place.done("publish", "1", "origin", "--no-sync", "--no-packs")
        try place.enable("expo", "=stable", of: "origin")
        try place.enable("hot-updater", "ios/production=stable", of: "origin")
        let served = try Served(origin: "origin", place)
        base = try Self.update(served).id.text
        try expect(served.end().status, equals: 0)
    }

    /// What `npx expo export` writes, and a bundle of hot-updater's.
    private static func files(_ number: UInt64) -> [String: String] {
        var (script, state) = ("", 7 as UInt64)
        for line in 0..<600 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            script += "call(\(UInt64(line) % 50 + number), \"\(String(state, radix: 36))\")\n"
        }
        return [
            "metadata.json": """
            {"version":0,"bundler":"metro","fileMetadata":{"ios":{"bundle":"\(bundle)","assets":[]}}}
            """,
            "expoConfig.json": #"{"name":"app","runtimeVersion":"1"}"#, bundle: script,
            "index.ios.bundle": "hot " + script, "small.txt": "\(number)",
        ]
    }

    private static func update(_ served: Served) throws -> JSON {
        let answer = try served.get(
            "/for/expo/manifest",
            [
                "Expo-Protocol-Version": "1", "Expo-Platform": "ios", "Expo-Runtime-Version": "1",
                "Accept": "application/expo+json",
            ])
        return try JSON(
            answer.body, of: ["id": "text", "launchAsset": ["url hash key contentType": "text"]])
    }

    /// The target that a URL of the operator's base leads to.
    private func target(_ url: String) throws -> [UInt8] {
        try require(url.hasPrefix("http://u.example.org/"))
        return Array(url.dropFirst("http://u.example.org".count).utf8)
    }

    private func publish(
        _ more: String..., environment: [String: String] = [:]
    ) throws -> Finished {
        try place.run(
            .castree, ["publish", "2", "origin", "--no-sync"] + more, environment: environment
        ).ended()
    }

    /// The files of patches at the origin.
    private func patches() throws -> [String] {
        let folder = place.directory.appending(path: "origin/for/patches/documents")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    private func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: place.directory.appending(path: name))
    }

    @Test func `Expo's clients that run a known update get a patch that bspatch applies`() throws {
        _ = try publish("--no-packs")
        let served = try Served(origin: "origin", place)
        let update = try Self.update(served)
        let target = try target(update.launchAsset.url.text)
        let current = "Expo-Current-Update-ID: \(base.uppercased())"
        let asked = [
            "A-IM: bsdiff", current, "Expo-Embedded-Update-ID: \(Self.embedded)",
            "Expo-Requested-Update-ID: \(update.id.text)", "Accept: */*",
            "Accept-Encoding: gzip, br",
        ]
        let patch = try RawAnswer.parts(served, target, asked)
        expect(patch.status, equals: 226)
        expect(patch.head.hasPrefix("HTTP/1.1 226 IM Used\r\n"), "\(patch.head)")
        let lines = patch.head.lowercased().components(separatedBy: "\r\n")
        for line in [
            "im: bsdiff", "expo-base-update-id: \(base)", "content-type: application/octet-stream",
            "cache-control: private, max-age=0", "vary: a-im, expo-current-update-id",
            "content-length: \(patch.bytes.count)",
        ] {
            expect(lines.contains(line), "\(line) is not in \(patch.head)")
        }
        for name in ["content-encoding", "etag", "accept-ranges", "content-range"] {
            expect(!lines.contains { $0.hasPrefix("\(name):") }, "\(patch.head)")
        }
        try write(patch.bytes, to: "patch")
        try place.run(["/usr/bin/bspatch", "release-1/\(Self.bundle)", "new", "patch"]).ended()
        try expect(place.contents("new"), equals: Self.files(2)[Self.bundle])
        let sum = try place.shell(
            "openssl dgst -sha256 -binary new | openssl base64 | tr '+/' '-_' | tr -d '=\\n'")
        expect(sum.text, equals: update.launchAsset["hash"].text)

        let head = try RawAnswer.parts(served, target, asked, method: "HEAD")
        expect(head.status == 226 && head.bytes.isEmpty)
        expect(head.head.lowercased().contains("content-length: \(patch.bytes.count)\r\n"))
        // A range is one of the whole file; ids without quotes are no tags.
        for fields in [
            ["Range: bytes=0-9"], ["If-None-Match: \(base)"], ["If-Match: \(update.id.text)"],
            ["If-None-Match: \(base)", "If-Match: \(update.id.text), \(base)"],
        ] {
            let same = try RawAnswer.parts(served, target, asked + fields)
            expect(same.status == 226 && same.bytes == patch.bytes, "\(fields): \(same.head)")
        }
        try expect(served.end().errors.isEmpty)
    }

    @Test func `Expo's clients that cannot use a patch get the whole file`() throws {
        _ = try publish("--no-packs")
        let served = try Served(origin: "origin", place)
        let update = try Self.update(served)
        let target = try target(update.launchAsset.url.text)
        let whole = try Array(require(Self.files(2)[Self.bundle]).utf8)
        let current = "Expo-Current-Update-ID: \(base)"
        for fields in [
            [], [current], ["A-IM: bsdiff"], ["A-IM: gzip, vcdiff", current],
            ["A-IM: bsdiff;q=0", current], ["A-IM: bsdiff", current, current],
            ["A-IM: bsdiff", "Expo-Current-Update-ID: \(Self.embedded)"],
            ["A-IM: bsdiff", "Expo-Current-Update-ID: \(update.id.text)"],
            ["A-IM: bsdiff", "Expo-Current-Update-ID: x"],
            ["If-None-Match: \(base)"], ["If-Match: \(update.id.text)"],
        ] {
            for method in ["GET", "HEAD"] {
                let answer = try RawAnswer.parts(served, target, fields, method: method)
                let lines = answer.head.lowercased().components(separatedBy: "\r\n")
                expect(answer.status, equals: 200, "\(fields)")
                expect(answer.bytes, equals: method == "GET" ? whole : [], "\(fields)")
                expect(lines.contains("content-length: \(whole.count)"), "\(answer.head)")
                expect(lines.contains("vary: accept-encoding, a-im, expo-current-update-id"))
                expect(!lines.contains { $0.hasPrefix("im:") }, "\(fields): \(answer.head)")
            }
        }
        let part = try RawAnswer.parts(served, target, ["Range: bytes=4-9"])
        expect(part.status == 206 && part.bytes == Array(whole[4..<10]))
        try expect(served.end().errors.isEmpty)
    }

    @Test func `hot-updater's clients are told a patch with its digest beside the file`() throws {
        let none = "00000000-0000-0000-0000-000000000000"
        func check(_ served: Served, _ current: String) throws -> String {
            try served.get(
                "/for/hot-updater/app-version/ios/1.0.0/production/\(none)/\(current)", [:]
            ).body
        }
        func address(_ name: String) throws -> String {
            String(try place.shell("openssl dgst -sha256 -r \(name)").text.prefix(64))
        }
        var served = try Served(origin: "origin", place)
        let current = try JSON(check(served, none), of: ["id": "text"]).id.text
        _ = try served.end()
        _ = try publish("--no-packs")
        served = try Served(origin: "origin", place)
        let change = try JSON(check(served, current)).changedAssets["index.ios.bundle"]
        let strings = "algorithm baseBundleId baseFileHash patchFileHash patchUrl"
        expect(
            change.differences(from: [
                "fileHash": "text", "patch": [strings: "text"], "file": ["url": "text"],
            ]), equals: [])
        expect(Set(change.patch.members.keys.map { "\($0)" }).count, equals: 5)
        expect(change.patch.algorithm == "bsdiff" && change.patch.baseBundleId.text == current)
        try expect(
            change.patch.baseFileHash.text, equals: address("release-1/index.ios.bundle"))
        try expect(change.fileHash.text, equals: address("release-2/index.ios.bundle"))
        let patch = try RawAnswer.parts(served, target(change.patch.patchUrl.text))
        expect(patch.status == 200 && patch.bytes.starts(with: "ENDSLEY/BSDIFF43".utf8))
        try write(patch.bytes, to: "patch")
        try expect(address("patch"), equals: change.patch.patchFileHash.text)
        let file = try RawAnswer.parts(served, target(change.file.url.text))
        expect(file.status, equals: 200)
        try expect(served.end().errors.isEmpty)
    }

    @Test(
        "A library that is not installed leaves a release without patches, and one notice names it",
        arguments: [["libdivsufsort.so.3"], ["libbz2.so.1.0", "libbz2.so.1"]])
    func lackingLibrary(_ names: [String]) throws {
        let package = names[0].hasPrefix("libbz2") ? "libbz2-1.0" : "libdivsufsort3"
        let environment = try place.lacking(names)
        let published = try publish("--no-packs", environment: environment)
        let said = published.errors.components(separatedBy: "apt install \(package)")
        expect(said.count == 2, "\(published.errors)")
        expect(published.errors.contains("no patches are made"))
        expect(!published.text.contains("patches"), "\(published)")
        try expect(patches(), equals: [])
        let served = try Served(origin: "origin", place)
        let update = try Self.update(served)
        expect(update.id.text != base)
        let fields = ["A-IM: bsdiff", "Expo-Current-Update-ID: \(base)"]
        let target = try target(update.launchAsset.url.text)
        try expect(RawAnswer.parts(served, target, fields).status, equals: 200)
        // They are made when it is there.
        let again = try publish("--no-packs")
        try expect(
            again.text.contains(" and hot-updater: \(patches().count) patches, "), "\(again)")
        try expect(RawAnswer.parts(served, target, fields).status, equals: 226)
        try expect(served.end().status, equals: 0)
    }

    @Test func `without libdivsufsort packs have no deltas, and a notice names it`() throws {
        let published = try publish(
            "--no-patches", environment: place.lacking(["libdivsufsort.so.3"]))
        let said = published.errors.components(separatedBy: "libdivsufsort3")
        expect(said.count == 2 && said[0].contains("without deltas"), "\(published.errors)")
        try expect(
            place.contents("origin/channels/stable.json").contains("\"version\":\"2\""))
    }

    @Test func `publish says how many patches it has made`() throws {
        let dry = try publish("--no-packs", "--json", "--dry-run")
        try expect(dry.document(.published).patches.number, equals: 0)
        let published = try publish("--no-packs", "--json").document(.published)
        let sizes = try patches().map { name in
            try Data(
                contentsOf: place.directory.appending(path: "origin/for/patches/documents/\(name)")
            ).count
        }
        // One for Expo's, and at least one for hot-updater's.
        expect(published.patches.number >= 2 && published.patches.number == sizes.count)
        expect(published.patchBytes.number, equals: sizes.reduce(0, +))
        let again = try publish("--no-packs")
        expect(again.errors.isEmpty && !again.text.contains("patches"), "\(again)")
    }
}
