import HotPush
import StorageTestSupport

@testable import ClientSystems

@Suite("Expo's clients are answered") struct ExpoAnswerTests {
    /// `2026-11-22T22:02:19.000Z`.
    static let time: Int64 = 1_795_384_939_000

    private func origin(
        _ files: [String: String] = ExpoTree.files("hello"), signer: (any ClientSigner)? = nil
    ) throws -> (ModelOrigin, PublishedVersion, ClientOffer) {
        var origin = ModelOrigin()
        let version = try origin.add("2.0", files)
        let offer = try origin.publish(
            .version(version), now: Self.time, for: Expo.self, ExpoTree.configuration(),
            signer: signer)
        return (origin, version, offer)
    }

    private func answer(_ request: ClientRequest, _ origin: ModelOrigin) throws -> ClientAnswer {
        try require(try Expo.answer(request, ExpoTree.configuration(), origin))
    }

    @Test func `with an update, byte for byte as the protocol has it`() throws {
        let (origin, version, offer) = try origin(signer: TestRSAKey.signer())
        let document = try require(offer.documents.first { $0.platform == "ios" })
        let assets = "https://u.example.org/for/expo/assets/\(version.content)"
        let (hello, picture, font) = (
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            try address(of: Array("picture".utf8)),
            try address(of: Array("font".utf8))
        )
        func listed(_ text: String, _ address: String, _ type: String, _ ending: String) throws
            -> String
        {
            let bytes = Array(text.utf8)
            let hash = Data(try Digester.digest(.sha256, of: bytes)).base64EncodedString()
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
            let key = Hex.string(try Digester.digest(.md5, of: bytes))
            return
                #"{"hash":"\#(hash)","key":"\#(key)","contentType":"\#(type)","fileExtension":".\#(ending)","#
                + #""url":"\#(assets)/\#(address).\#(ending)"}"#
        }
        let manifest =
            #"{"id":"\#(document.id)","createdAt":"2026-11-22T22:02:19.000Z","runtimeVersion":"1","launchAsset":"#
            + #"{"hash":"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ","key":"5d41402abc4b2a76b9719d911017c592","#
            + #""contentType":"application/javascript","fileExtension":".bundle","url":"\#(assets)/\#(hello).bundle"},"#
            + #""assets":["# + (try listed("picture", "\(picture)", "image/png", "png")) + ","
            + (try listed("font", "\(font)", "font/ttf", "ttf"))
            + #"],"metadata":{},"extra":{"expoClient":{"name":"app","runtimeVersion":"1"}}}"#
        let digest = try address(of: Array(manifest.utf8))
        let boundary = "castree-" + digest.description.prefix(32)
        let signature = try Base64.string(TestRSAKey.signer().sign(Array(manifest.utf8)))
        func body(_ field: String) -> String {
            "--\(boundary)\r\ncontent-disposition: form-data; name=\"manifest\"\r\n"
                + "content-type: application/json; charset=utf-8\r\n\(field)\r\n\(manifest)\r\n--\(boundary)\r\n"
                + "content-disposition: form-data; name=\"extensions\"\r\ncontent-type: application/json\r\n\r\n"
                + "{\"assetRequestHeaders\":{}}\r\n--\(boundary)--\r\n"
        }
        let plain = try answer(ExpoTree.request(), origin)
        expect(plain.status, equals: 200)
        expect(
            plain.fields,
            equals: [
                .init("expo-protocol-version", "1"), .init("expo-sfv-version", "0"),
                .init("cache-control", "private, max-age=0"),
                .init("content-type", "multipart/mixed; boundary=\(boundary)"),
            ])
        expect(String(decoding: try origin.bytes(of: plain), as: UTF8.self), equals: body(""))
        let signed = try answer(
            ExpoTree.request([
                "expo-expect-signature": "sig, keyid=\"root\", alg=\"rsa-v1_5-sha256\""
            ]),
            origin)
        expect(
            String(decoding: try origin.bytes(of: signed), as: UTF8.self),
            equals: body("expo-signature: sig=\"\(signature)\", keyid=\"root\"\r\n"))
        // Readers that are not ours: parts by RFC 2046, and JSON.
        let parts = try require(ExpoTree.parts(signed, try origin.bytes(of: signed)))
        expect(parts.map(\.name), equals: ["manifest", "extensions"])
        try expect(
            TestRSAKey.signer().verifies(require(Base64.bytes(signature)), of: parts[0].body))
        let json = try require(
            try JSONSerialization.jsonObject(with: Data(parts[0].body)) as? [String: Any])
        let listedAssets = try require(json["assets"] as? [[String: String]])
        let launch = try require(json["launchAsset"] as? [String: String])
        for asset in listedAssets + [launch] {
            try expect(origin.serves(asset["url"] ?? "", Expo.self, ExpoTree.configuration()))
        }
    }

    /// What both clients require of an asset: without one of these fields Android's passes over it, and that of iOS ends.
    @Test func `with all fields of every asset, also of one whose file has no ending`() throws {
        var files = ExpoTree.files("hello")
        files["metadata.json"] =
            #"{"fileMetadata":{"ios":{"bundle":"_expo/static/js/ios/A.hbc","assets":[{"path":"assets/font","ext":""}]}}}"#
        let (origin, _, _) = try origin(files)
        let answer = try answer(ExpoTree.request(), origin)
        let parts = try require(ExpoTree.parts(answer, try origin.bytes(of: answer)))
        let manifest = try JSONValue.parse(parts[0].body)
        let assets = try require(manifest["assets"]?.asArray)
        expect(assets.count, equals: 1)
        for asset in assets + [try require(manifest["launchAsset"])] {
            for field in ["key", "hash", "url", "contentType", "fileExtension"] {
                expect(asset[field]?.asString?.isEmpty, equals: false, "\(field)")
            }
            try expect(
                origin.serves(asset["url"]?.asString ?? "", Expo.self, ExpoTree.configuration()))
        }
        // As the reference server has it.
        expect(assets[0]["fileExtension"]?.asString, equals: ".")
    }

    /// `microsoft`'s and `expo`'s own servers make ids so: reference fixture `updates/test/1`.
    @Test func `with ids spelled as the reference server spells them`() throws {
        let digest = "b15ed6d8f39b04ada248fa3b95fd7e0e" + String(repeating: "5", count: 32)
        expect(
            ClientDocument.uuid(try require(ObjectID(digest)).bytes),
            equals: "b15ed6d8-f39b-04ad-a248-fa3b95fd7e0e")
        for (time, text) in [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_666_224_000_000, "2022-10-20T00:00:00.000Z"),
            (4_102_444_799_007, "2099-12-31T23:59:59.007Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            expect(ExpoTime.text(Int64(time)), equals: text)
        }
    }

    @Test
    func `without parts if they take none, with the signature in a field of the answer`() throws {
        let (origin, _, offer) = try origin(signer: TestRSAKey.signer())
        let document = try require(offer.documents.first { $0.platform == "ios" })
        for (accept, type) in [
            ("application/expo+json", "application/expo+json"),
            ("application/json", "application/json"),
            ("multipart/mixed;q=0, */*", "application/expo+json"),
        ] {
            let answer = try answer(
                ExpoTree.request(["accept": accept, "expo-expect-signature": "sig"]), origin)
            expect(
                answer.body == .document(document, .expo) && answer.field("content-type") == type)
            expect(
                answer.field("expo-signature"),
                equals: "sig=\"\(document.signature ?? "")\", keyid=\"main\"")
        }
        for accept in ["text/html", "application/json;q=0", "image/*", ""] {
            try expect(answer(ExpoTree.request(["accept": accept]), origin).status, equals: 406)
        }
        for accept in ["*/*", "multipart/*", nil] {
            let answer = try answer(ExpoTree.request(["accept": accept]), origin)
            expect(answer.field("content-type")?.hasPrefix("multipart/mixed"), equals: true)
        }
    }

    @Test func `that their request is wrong, in a sentence of JSON`() throws {
        let (origin, _, _) = try origin()
        let long = String(repeating: "1", count: 2000)
        let table: [([String: String?], Int)] = [
            (["expo-protocol-version": nil], 400), (["expo-protocol-version": "0"], 400),
            (["expo-protocol-version": "2"], 400), (["expo-protocol-version": "1 "], 400),
            (["expo-platform": nil], 400), (["expo-platform": "web"], 400),
            (["expo-platform": "iOS"], 400), (["expo-runtime-version": nil], 400),
            (["expo-runtime-version": ""], 400), (["expo-runtime-version": long], 400),
            (["expo-runtime-version": "999"], 404), (["expo-runtime-version": "1\u{0}"], 404),
            (["expo-runtime-version": "../1"], 404), (["expo-channel-name": "other"], 404),
            (["expo-channel-name": "stable"], 404), (["expo-channel-name": "../stable"], 404),
            (["expo-expect-signature": "sig"], 400), (["expo-expect-signature": "(((("], 400),
            (["expo-expect-signature": "sig, alg=\"none\""], 406),
            (["expo-current-update-id": long], 400),
            (["expo-expect-signature": "sig=?0"], 200),
            (["expo-current-update-id": "no uuid"], 200),
            (["expo-embedded-update-id": "' OR 1=1"], 200), (["host": "evil.example"], 200),
            (["expo-extra-params": "((("], 200), (["eas-client-id": ""], 200),
        ]
        for (fields, status) in table {
            let answer = try answer(ExpoTree.request(fields), origin)
            expect(answer.status, equals: status, "\(fields)")
            expect(answer.field("expo-protocol-version"), equals: "1")
            guard status >= 400 else { continue }
            let body = try JSONValue.parse(origin.bytes(of: answer))
            expect(body["error"]?.asString?.isEmpty, equals: false)
        }
        for method in ["POST", "PUT", "DELETE", "get"] {
            var request = ExpoTree.request()
            request.method = method
            let answer = try answer(request, origin)
            expect(answer.status == 405 && answer.field("allow") == "GET, HEAD")
        }
        var twice = ExpoTree.request()
        twice.fields.append(.init("expo-platform", "ios"))
        try expect(answer(twice, origin).status, equals: 400)
        for path in [
            "/", "/for/expo/manifest/", "/for/expo", "/for/expo/manifests", "/for/capgo/updates",
        ] {
            try expect(
                Expo.answer(ClientRequest("GET", path), ExpoTree.configuration(), origin)
                    == nil
            )
        }
    }

    @Test(
        "with the assets of all updates that the origin holds, compressed for those who take that")
    func assets() throws {
        let (origin, version, _) = try origin()
        let facts = try ObjectFacts(of: Array("font".utf8))
        let address = facts.address
        let deflatedCopy = try require(ObjectID(String(repeating: "7", count: 64)))
        var deflated = origin
        deflated.addDeflatedCopy(Reference(address: deflatedCopy, byteCount: 3), of: address)
        let path = "/for/expo/assets/\(version.content)/\(address)"
        func answer(_ path: String, _ encoding: String?, method: String = "GET") throws
            -> ClientAnswer?
        {
            let fields = encoding.map { [ClientRequest.Field("accept-encoding", $0)] } ?? []
            return try Expo.answer(
                ClientRequest(method, path, fields: fields), ExpoTree.configuration(), deflated)
        }
        for (encoding, isCompressed) in [
            ("gzip", true), ("br, gzip", true), ("br", false), (nil, false), ("gzip;q=0", false),
            ("*", true),
        ] {
            let answer = try require(try answer(path + ".ttf", encoding))
            expect(answer.field("content-encoding"), equals: (isCompressed ? "gzip" : nil))
            expect(
                answer.field("content-type") == "font/ttf"
                    && answer.field("vary") == "accept-encoding")
            expect(answer.field("cache-control"), equals: "public, max-age=31536000, immutable")
            expect(
                answer.body,
                equals: (isCompressed
                    ? .gzip(
                        deflatedCopy: deflatedCopy, deflatedByteCount: 3, crc32: facts.crc32,
                        byteCount: 4)
                    : .object(address, byteCount: 4)))
        }
        for (suffix, type) in [
            (".bundle", "application/javascript"), ("", "application/octet-stream"),
            (".png", "image/png"), (".%2e%2e%2fx", "application/octet-stream"),
        ] {
            try expect(answer(path + suffix, nil)?.field("content-type"), equals: type, "\(suffix)")
        }
        let other = try StorageTestSupport.address(of: Array("other".utf8))
        for wrong in [
            "/for/expo/assets/", "/for/expo/assets/\(address)",
            "/for/expo/assets/\(version.content)/",
            "/for/expo/assets/\(version.content)/\(other).png",
            "/for/expo/assets/\(other)/\(address).ttf",
            "/for/expo/assets/\(version.content)/../\(address)",
            "/for/expo/assets/\(version.content)/%",
            "/for/expo/assets/\(version.content)/\(address)/x", path.uppercased(),
            "/for/expo/assets/\(version.content)/" + String(repeating: "a", count: 65_536),
        ] {
            let status = try answer(wrong, nil)?.status
            expect(
                status == 404 || wrong == path.uppercased() && status == nil, "\(wrong.prefix(200))"
            )
        }
        try expect(answer(path, nil, method: "POST")?.status, equals: 405)
        // What is no longer offered may still be asked for, until the origin has dropped it.
        var later = origin
        later.withdraw(.version(version))
        try expect(
            Expo.answer(ClientRequest("GET", path), ExpoTree.configuration(), later)?
                .status, equals: 200)
        later.lose(version.content)
        try expect(
            Expo.answer(ClientRequest("GET", path), ExpoTree.configuration(), later)?
                .status, equals: 404)
    }
}
