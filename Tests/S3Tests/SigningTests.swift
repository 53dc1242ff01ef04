import Expectations
import Platform
import S3

/// Signature Version 4 against what AWS has published, and against a second implementation.
@Suite struct SigningTests {
    /// A request and the signature that it must get.
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var method = "GET"
        var path = "/"
        var query: [(String, String)] = []
        var fields: [(String, String)] = []
        var body = ""
        var signature: String
        var testDescription: String { name }
    }

    private static func signature(
        _ vector: Vector, host: String, _ signer: RequestSigner, _ keys: AccessKeys, at: Int64
    ) throws -> String {
        var request = SignableRequest(method: vector.method, host: host, path: vector.path)
        request.query = vector.query.map { (name: $0.0, value: $0.1) }
        request.fields = vector.fields.map { (name: $0.0, value: $0.1) }
        request.payloadDigest = Hex.string(
            try Digester.digest(.sha256, of: Array(vector.body.utf8)))
        let fields = try signer.fields(for: request, by: keys, at: at)
        let value = try require(fields.first { $0.name == "authorization" }?.value)
        return String(value.suffix(64))
    }

    /// The AWS Signature Version 4 Test Suite (aws-sig-v4-test-suite), by the names of its cases.
    static let suite = [
        Vector(
            name: "get-vanilla",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            name: "get-vanilla-query-order-key-case",
            query: [("Param2", "value2"), ("Param1", "value1")],
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Vector(
            name: "get-vanilla-empty-query-key", query: [("Param1", "value1")],
            signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        Vector(
            name: "get-vanilla-query-unreserved",
            query: [
                (
                    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                )
            ],
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        Vector(
            name: "get-vanilla-utf8-query", query: [("\u{1234}", "bar")],
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        Vector(
            name: "get-utf8", path: "/\u{1234}",
            signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        Vector(
            name: "get-unreserved",
            path: "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        Vector(
            name: "get-header-value-trim",
            fields: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        Vector(
            name: "post-vanilla", method: "POST",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Vector(
            name: "post-header-key-sort", method: "POST", fields: [("My-Header1", "value1")],
            signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        Vector(
            name: "post-header-value-case", method: "POST", fields: [("My-Header1", "VALUE1")],
            signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
        Vector(
            name: "post-x-www-form-urlencoded", method: "POST",
            fields: [("Content-Type", "application/x-www-form-urlencoded")], body: "Param1=value1",
            signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
    ]

    @Test(arguments: suite)
    func `the published test suite`(_ vector: Vector) throws {
        // 12:36 on 2015-08-30.
        let signature = try Self.signature(
            vector, host: "example.amazonaws.com",
            RequestSigner(region: "us-east-1", service: "service", sendsPayloadDigest: false),
            AccessKeys(id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            at: 1_440_938_160)
        expect(signature, equals: vector.signature)
    }

    /// "Signature Calculations for the Authorization Header" in the reference of Amazon S3.
    static let examples = [
        Vector(
            name: "GET Object", path: "/test.txt", fields: [("Range", "bytes=0-9")],
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Vector(
            name: "PUT Object", method: "PUT", path: "/test$file.text",
            fields: [
                ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ], body: "Welcome to Amazon S3.",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Vector(
            name: "GET Bucket Lifecycle", query: [("lifecycle", "")],
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Vector(
            name: "Get Bucket (List Objects)", query: [("max-keys", "2"), ("prefix", "J")],
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    static let exampleKeys = AccessKeys(
        id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    /// Midnight of 2013-05-24.
    static let exampleTime: Int64 = 1_369_353_600

    @Test(arguments: examples)
    func `the examples of the reference of S3`(_ vector: Vector) throws {
        let signature = try Self.signature(
            vector, host: "examplebucket.s3.amazonaws.com", RequestSigner(region: "us-east-1"),
            Self.exampleKeys, at: Self.exampleTime)
        expect(signature, equals: vector.signature)
    }

    /// What the kit's client in Python signs, checked by a Ceph RGW: forms that S3 alone has.
    static let compared = [
        Vector(
            name: "/updates/a%2Bb%20c/%C3%BC%E2%82%AC/x//y%252Fz", method: "PUT",
            path: "/updates/a+b c/\u{fc}\u{20ac}/x//y%2Fz",
            fields: [
                ("if-none-match", "*"), ("cache-control", "private, no-store"),
                ("content-type", "application/json"),
            ], body: "{}\n",
            signature: "113f0679490a011731ed25e6bcfe9f41a23028ab1a4a9d38041aecc23f667ab8"),
        Vector(
            name: "/updates?continuation-token=a%2Bb%2Fc%3D%3D&encoding-type=url&list-type=2"
                + "&max-keys=1000&prefix=a%2F&start-after=%C3%A9%20~",
            path: "/updates",
            query: [
                ("list-type", "2"), ("prefix", "a/"), ("max-keys", "1000"),
                ("continuation-token", "a+b/c=="), ("encoding-type", "url"),
                ("start-after", "\u{e9} ~"),
            ],
            signature: "706b7933f3a6d98ced52368a4683a802c4c2c6cc2634b792f60f50f0660e56fc"),
        Vector(
            name: "/updates/big?uploads=", method: "POST", path: "/updates/big",
            query: [("uploads", "")], fields: [("content-type", "application/octet-stream")],
            signature: "0adf36e58954c148a4443e47c492ac526bf29ffcc914924fd126b4439f514cb8"),
        Vector(
            name: "/updates/big?partNumber=10&uploadId=2~x%3D%40%2B%2F", method: "PUT",
            path: "/updates/big", query: [("partNumber", "10"), ("uploadId", "2~x=@+/")],
            body: "part",
            signature: "30d83797466167fe766e8692c97c271df2c9c2b4cf51d31c7517703f8cc53821"),
        Vector(
            name: "/updates/o", path: "/updates/o",
            fields: [("if-match", "\"d41d8cd9\""), ("range", "bytes=5-")],
            signature: "0c47f5ef38ccebe496d66988ff224c3e6bc929ed873250b47b25a11bab51197b"),
    ]

    @Test(arguments: compared)
    func `the same as a second implementation, and sent as it was signed`(_ vector: Vector) throws {
        // A second before midnight of 2026-03-01.
        var keys = AccessKeys(
            id: "CASTESTKEY0000000001", secret: "castestsecret0000000000000000000000000001")
        if vector.path == "/updates/o" { keys.sessionToken = "tok/en==" }
        let signature = try Self.signature(
            vector, host: "127.0.0.1:19300", RequestSigner(region: "eu-west-1"), keys,
            at: 1_772_323_199)
        expect(signature, equals: vector.signature)
        var request = SignableRequest(method: "GET", host: "", path: vector.path)
        request.query = vector.query.map { (name: $0.0, value: $0.1) }
        let target =
            request.encodedPath + (request.query.isEmpty ? "" : "?" + request.encodedQuery)
        expect(target, equals: vector.name)
    }

    @Test func `keys show no secret, however they are printed`() {
        let keys = AccessKeys(id: "AKIAIOSFODNN7EXAMPLE", secret: "s3cr3t", sessionToken: "t0ken")
        var dumped = ""
        dump(keys, to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), String(describing: [keys]), dumped] {
            expect(!text.contains("s3cr3t") && !text.contains("t0ken"))
            expect(!text.contains("IOSFODNN7EXAMP"))
        }
        expect("\(keys)", equals: "key AKIA\u{2026}LE")
        expect("\(AccessKeys(id: "short", secret: ""))", equals: "key \u{2026}")
    }

    @Test func `without keys nothing is signed, and the digest is sent all the same`() throws {
        let request = SignableRequest(method: "GET", host: "h", path: "/")
        let fields = try RequestSigner(region: "r").fields(for: request, by: nil, at: 0)
        expect(fields.map(\.name), equals: ["x-amz-content-sha256"])
    }
}
