import Archives
import HotPush
import StorageTestSupport

@testable import ClientSystems

/// What goes over the wire, byte for byte.
@Suite struct HotUpdaterAnswerTests {
    private static let builtIn = HotUpdaterCheck.builtIn

    @Test func `A first update names the archive and the manifest`() throws {
        var model = HotUpdaterModel()
        let offer = try model.publish("2.0")
        let content = try require(offer.version?.content)
        let id = try require(offer.id)
        let answer = try require(
            try model.answer("app-version/ios/1.0/production/\(Self.builtIn)/\(Self.builtIn)/17"))
        let base = "https://u.example.org/for/hot-updater/"
        let archive = try require(offer.archive?.sha256)
        let digest = try require(offer.manifestDigest)
        expect(answer.field("content-type"), equals: "application/json")
        expect(
            answer.text,
            equals: """
                {"id":"\(id)","shouldForceUpdate":false,"message":"2.0","status":"UPDATE",\
                "fileUrl":"\(base)archives/\(content).\(id).zip",\
                "fileHash":"\(archive)",\
                "manifestUrl":"\(base)manifests/\(content).\(id).json",\
                "manifestFileHash":"\(digest)"}
                """)
    }

    @Test func `An update from a known bundle names each file that changed, by its path`() throws {
        var model = HotUpdaterModel()
        let first = try model.publish(
            "1", ["index.ios.bundle": "old", "a ü.png": "a", "gone": "g"])
        let second = try model.publish(
            "2", ["index.ios.bundle": "new", "a ü.png": "a", "moved": "g", "empty": ""],
            isMandatory: true)
        let told = try require(try model.check(first.id))
        expect(told["shouldForceUpdate"]?.asBool, equals: true)
        let changes = try require(told["changedAssets"]?.asObject)
        expect(changes.map(\.key), equals: ["empty", "index.ios.bundle", "moved"])
        for (change, text) in zip(changes, ["", "new", "g"]) {
            let hash = SHA.hex(text)
            expect(change.value["fileHash"]?.asString, equals: hash)
            expect(
                change.value["file"]?["url"]?.asString,
                equals: "https://u.example.org/objects/\(hash.prefix(2))/\(hash.dropFirst(2))")
        }
        // Upper case is the same id; a bundle that is no longer offered leads to the archive.
        try expect(model.check(first.id?.uppercased())?["changedAssets"] != nil)
        model.origin.withdraw(first)
        try expect(model.check(first.id)?["changedAssets"] == nil)
        // Back from what is withdrawn: forced, whatever the release says.
        let third = try model.publish("3")
        model.origin.withdraw(third)
        let back = try require(try model.check(third.id))
        expect(back["status"]?.asString == "ROLLBACK" && back["id"]?.asString == second.id)
    }

    @Test func `Going back is forced also to a release that is not mandatory`() throws {
        var model = HotUpdaterModel()
        try model.publish("1")
        let second = try model.publish("2")
        model.origin.withdraw(second)
        let told = try require(try model.check(second.id))
        expect(told["shouldForceUpdate"]?.asBool, equals: true)
        expect(told["fileUrl"]?.asString?.contains("/archives/"), equals: true)
    }

    @Test func `Nothing new is UP_TO_DATE, and null for clients before 0.31.0`() throws {
        var model = HotUpdaterModel()
        let id = try require(try model.publish("1").id)
        let path = "app-version/ios/1.0/production/\(Self.builtIn)/\(id)"
        let table: [(String?, String)] = [
            ("0.31.0", #"{"status":"UP_TO_DATE"}"#), (" v0.36.3 ", #"{"status":"UP_TO_DATE"}"#),
            ("1.0.0", #"{"status":"UP_TO_DATE"}"#), ("0.30.9", "null"), ("0.31.0-rc.1", "null"),
            ("0.31", "null"), ("", "null"), ("x", "null"), (nil, "null"),
        ]
        for (sdk, text) in table {
            try expect(model.answer(path, sdk: sdk)?.text, equals: text, "\(sdk ?? "none")")
        }
    }

    @Test func `Back to what was shipped`() throws {
        var model = HotUpdaterModel()
        let first = try model.publish("1")
        try model.publishEmbedded()
        let id = try require(first.id)
        try expect(
            model.answer("app-version/android/1.0/production/\(Self.builtIn)/\(id)")?.text,
            equals: """
                {"id":"00000000-0000-0000-0000-000000000000","message":null,\
                "shouldForceUpdate":true,"status":"ROLLBACK","fileUrl":null,"fileHash":null}
                """)
        try expect(model.check()?["status"]?.asString, equals: "UP_TO_DATE")
        let second = try model.publish("2")
        try expect(model.check(id)?["id"]?.asString, equals: second.id)
    }

    @Test
    func `The manifest is what JavaScript writes with two blanks, and is in the archive`() throws {
        var model = HotUpdaterModel()
        let offer = try model.publish("1", ["index.ios.bundle": "hello", "a\"ü/\u{7}.png": "b"])
        let told = try require(try model.check())
        let id = try require(offer.id)
        let manifest = """
            {
              "bundleId": "\(id)",
              "assets": {
                "a\\"ü/\\u0007.png": {
                  "fileHash": "\(SHA.hex("b"))"
                },
                "index.ios.bundle": {
                  "fileHash": "\(SHA.hex("hello"))"
                }
              }
            }

            """
        try expect(model.bytes(at: told["manifestUrl"]?.asString), equals: Array(manifest.utf8))
        expect(told["manifestFileHash"]?.asString, equals: SHA.hex(manifest))
        guard case .archive(let archive) = try model.answer(at: told["fileUrl"]?.asString)?.body
        else { throw Unexpected("no archive") }
        let files = try model.origin.files(in: archive)
        expect(
            files.mapValues { String(decoding: $0, as: UTF8.self) },
            equals: ["manifest.json": manifest, "index.ios.bundle": "hello", "a\"ü/\u{7}.png": "b"])
        let bytes = try model.origin.bytes(of: archive)
        expect(told["fileHash"]?.asString, equals: (try ObjectID(of: bytes)).description)
        expect(offer.archive?.byteCount, equals: Int64(bytes.count))
    }

    @Test
    func `Signed: archive and manifest by their 32 bytes of digest, and each file in the manifest`()
        throws
    {
        var model = HotUpdaterModel()
        let first = try model.publish("1", ["a": "1", "b": "1", "c": "2"], signer: ModelSigner())
        let told = try require(try model.check())
        func signature(of digest: [UInt8]) -> String {
            Base64.string(Array("key signs ".utf8) + digest)
        }
        let archive = try require(first.archive).sha256
        expect(told["fileHash"]?.asString, equals: "sig:" + signature(of: archive.bytes))
        let digest = try require(first.manifestDigest)
        expect(told["manifestFileHash"]?.asString, equals: "sig:" + signature(of: digest.bytes))
        let bytes = try model.bytes(at: told["manifestUrl"]?.asString)
        try expect(ObjectID(of: bytes), equals: digest)
        let assets = try require(try JSONValue.parse(bytes)["assets"]?.asObject)
        expect(assets.map(\.key), equals: ["a", "b", "c"])
        for asset in assets {
            let hash = try require(asset.value["fileHash"]?.asString)
            let address = try require(ObjectID(hash))
            expect(asset.value["signature"]?.asString, equals: signature(of: address.bytes))
        }
        try expect(model.bytes(at: told["fileUrl"]?.asString).count > 0)
        // The same bundle by another key: the same id, other bytes, another URL.
        let again = try model.publish(
            "1", ["a": "1", "b": "1", "c": "2"], signer: ModelSigner(key: "k2"))
        expect(again.id, equals: first.id)
        let other = try require(try model.check())
        expect(other["fileUrl"] != told["fileUrl"] && other["manifestUrl"] != told["manifestUrl"])
    }

    // MARK: Ids

    @Test
    func `An id is a UUID of version 7: the time of the first offer, then the content's own bits`()
        throws
    {
        let content = try ObjectID(of: [1])
        let id = try HotUpdater.id(0x01a2_0548_15e0, content, ["ios/production"])
        expect(id.hasPrefix("01a20548-15e0-7"))
        expect(id.utf8.count == 36 && Array("89ab".utf8).contains(Array(id.utf8)[19]))
        var message = content.bytes
        message += [0] + Array("ios/production".utf8)
        let digest = Array(try ObjectID(of: message).description.utf8)
        let digits = Array(id.replacing("-", with: "").utf8)
        expect(digits[13..<16].elementsEqual(digest[1..<4]))
        expect(digits[17...].elementsEqual(digest[5..<20]))
        var ids: Set<String> = [id]
        ids.insert(try HotUpdater.id(0x01a2_0548_15e0, content, ["android/production"]))
        ids.insert(try HotUpdater.id(0x01a2_0548_15e0, content, ["ios/beta"]))
        ids.insert(try HotUpdater.id(0x01a2_0548_15e0, ObjectID(of: [2]), ["ios/production"]))
        ids.insert(try HotUpdater.id(0x01a2_0548_15e1, content, ["ios/production"]))
        expect(ids.count, equals: 5)
        try expect(
            HotUpdater.id(1, content, ["a", "b"]),
            equals: HotUpdater.id(1, content, ["b", "a"]))
        // Also before 1970 and after 10889 it is one.
        for time in [Int64.min, -1, 0, .max] {
            try expect(HotUpdater.id(time, content, []).utf8.count, equals: 36)
        }
    }

    @Test func `Ids grow with each new content, and stay with a content for ever`() throws {
        var model = HotUpdaterModel()
        let first = try model.publish("1")
        let second = try model.publish("2")
        let again = try model.publish("1")
        expect(again.id == first.id && again.sequence > second.sequence)
        expect(again.archive == first.archive && again.manifestDigest == first.manifestDigest)
        let ids = [first.id, second.id].compactMap { $0 }
        expect(ids.count == 2 && ids[0] < ids[1])
        // Under another name it is the same bundle; in another channel it is another one.
        try expect(model.publish("one", ["index.ios.bundle": "version 1"]).id, equals: first.id)
        let beta = try ChannelName("beta")
        model.configuration.deployments["ios/beta"] = beta
        try expect(model.publish("1", in: beta).id != first.id)
    }

    @Test func `A clock that goes back gives no smaller id`() throws {
        var model = HotUpdaterModel()
        var ids: [String] = []
        for (number, now) in [Int64(5000), 1000, 5000, 4000].enumerated() {
            let version = try model.origin.add("\(number)", ["index.ios.bundle": "\(number)"])
            let offer = try model.origin.publish(
                .version(version), now: now, for: HotUpdater.self, model.configuration)
            ids.append(try require(offer.id))
        }
        expect(ids == ids.sorted() && Set(ids).count == 4)
    }

    // MARK: Paths

    @Test func `Paths that ask for nothing are answered with an error`() throws {
        var model = HotUpdaterModel()
        let offer = try model.publish("1")
        let other = try model.publish("2", in: try ChannelName("hidden"))
        let (id, content) = (try require(offer.id), try require(offer.version?.content))
        let nil_ = Self.builtIn
        let table: [(String, Int)] = [
            ("app-version/ios/1.0/production/\(nil_)/\(nil_)", 200),
            ("app-version/android/1.0/production/\(nil_)/\(nil_)/qa", 200),
            ("fingerprint/ios/abc/production/\(nil_)/\(nil_)", 200),
            ("app-version/ios/1.0/production/\(nil_)/\(nil_)/", 200),
            ("app-version/ios/1.0/production/\(nil_)/\(nil_)//", 404),
            ("%61pp-version/i%6Fs/1%2E0/%70roduction/\(nil_)/\(nil_)/%31", 200),
            ("app-version/windows/1.0/production/\(nil_)/\(nil_)", 400),
            ("app-version/ios/1.0/%ff/\(nil_)/\(nil_)", 400),
            ("app-version/ios/1.0/%00/\(nil_)/\(nil_)", 400),
            ("app-version/ios/1.0/production/\(nil_)/%", 400),
            ("app-version/ios/1.0/production/\(nil_)/%zz", 400),
            ("app-version/ios/1.0/staging/\(nil_)/\(nil_)", 404),
            ("app-version/ios/1.0/hidden/\(nil_)/\(nil_)", 404),
            ("app-version/ios/1.0/stable/\(nil_)/\(nil_)", 404),
            ("app-version/ios/1.0/..%2Fproduction/\(nil_)/\(nil_)", 404),
            ("app-version/ios/1.0/production/\(nil_)", 404),
            ("app-version/ios//production/\(nil_)/\(nil_)", 404),
            ("app-version/ios/1.0/production/\(nil_)/\(nil_)/1/2", 404),
            ("", 404), ("app-version", 404), ("archives", 404), ("archives/", 404), ("x", 404),
            ("archives/\(content).\(id).zip", 200), ("manifests/\(content).\(id).json", 200),
            ("archives/\(content).zip", 404), ("archives/\(content).\(id).json", 404),
            ("archives/\(content).\(nil_).zip", 404), ("manifests/\(content).\(id).zip", 404),
            ("archives/\(content).\(id).zip/x", 404), ("archives/\(content).\(id).x.zip", 404),
            ("archives/\(try require(other.version?.content)).\(try require(other.id)).zip", 404),
        ]
        for (path, status) in table {
            try expect(model.answer(path)?.status, equals: status, "\(path)")
        }
        try expect(model.answer("app-version", method: "POST")?.status, equals: 405)
        try expect(
            HotUpdater.answer(
                ClientRequest("/for/codepush/x"), model.configuration, model.origin) == nil)
    }

    @Test func `A channel that is not there sends nobody back`() throws {
        let model = HotUpdaterModel()
        let path =
            "app-version/ios/1.0/production/\(Self.builtIn)/\(Self.builtIn.replacing("0", with: "1"))"
        try expect(model.answer(path)?.status, equals: 404)
    }

    @Test func `What the origin has lost is not offered`() throws {
        var model = HotUpdaterModel()
        let first = try model.publish("1")
        let second = try model.publish("2")
        model.origin.lose(try require(first.version?.content))
        let told = try require(try model.check(first.id))
        expect(told["id"]?.asString == second.id && told["changedAssets"] == nil)
        model.origin.lose(try require(second.version?.content))
        try expect(model.check()?["status"]?.asString, equals: "UP_TO_DATE")
        let name = "\(try require(second.version?.content)).\(try require(second.id))"
        try expect(model.answer("archives/\(name).zip")?.status, equals: 404)
    }
}
