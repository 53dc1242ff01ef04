import ServeFromCAS
import WebTestSupport

@Suite("A request's host")
struct HostPolicyTests {
    static let cases: [(host: String, isAllowed: Bool)] = [
        ("localhost:12345", true), ("LocalHost:12345", true), ("127.0.0.1:12345", true),
        ("[::1]:12345", true), ("kiosk.example", true), ("kiosk.example:443", true),
        ("shop.example:8080", true),
        ("localhost", false), ("localhost:12346", false), ("127.0.0.1", false),
        ("evil.example", false), ("evil.example:12345", false),
        ("localhost.evil.example:12345", false),
        ("127.0.0.1.evil.example:12345", false), ("127.0.0.2:12345", false),
        ("shop.example", false), ("shop.example:8081", false), ("localhost:12345:12345", false),
        ("kiosk.example.", false), ("xkiosk.example", false), ("localhost.:12345", false),
    ]

    @Test(arguments: cases)
    func `is one of ours, or the answer is 421`(_ row: (host: String, isAllowed: Bool)) throws {
        let policy = HostPolicy(port: 12345, names: ["Kiosk.example", "shop.example:8080"])
        expect(policy.allows(Array(row.host.utf8)[...]), equals: row.isAllowed)
        guard
            let request = try? RequestHead(method: "GET", target: "/", fields: [("Host", row.host)])
        else {
            expect(!row.isAllowed)
            return
        }
        let refusal = policy.refusal(of: request)
        expect((refusal == nil), equals: row.isAllowed)
        if let refusal { expect(refusal.head.status, equals: 421) }
    }

    @Test func `needs no port where the scheme has it`() {
        let policy = HostPolicy(port: 80)
        expect(policy.allows(Array("localhost".utf8)[...]))
        expect(policy.allows(Array("localhost:80".utf8)[...]))
        expect(!policy.allows(Array("localhost:81".utf8)[...]))
    }
}

@Suite("A request's token")
struct TokenPolicyTests {
    let policy = TokenPolicy(token: "s3cret", name: "castree_token_1")

    enum Expected: Sendable { case granted, cookie, refused }

    static let cases: [(target: String, cookie: String?, expected: Expected)] = [
        ("/", "castree_token_1=s3cret", .granted),
        ("/", "a=b; castree_token_1=s3cret; c=d", .granted),
        ("/", "castree_token_1=wrong; castree_token_1=s3cret", .granted),
        ("/?castree_token_1=s3cret", nil, .cookie),
        ("/?a=b&castree_token_1=s3cret&c", "castree_token_1=old", .cookie),
        ("/", nil, .refused), ("/", "castree_token_1=wrong1", .refused),
        ("/", "castree_token_1=", .refused), ("/", "castree_token_1", .refused),
        ("/", "castree_token_1=s3cret2", .refused), ("/", "castree_token_1=s3cre", .refused),
        ("/", "xcastree_token_1=s3cret", .refused), ("/", "castree_token_11=s3cret", .refused),
        ("/?castree_token_1=wrong", nil, .refused), ("/?s3cret", nil, .refused),
        ("/s3cret", nil, .refused), ("/?castree_token_1=S3CRET", nil, .refused),
    ]

    @Test("is in the cookie, or in the query and then set as one", arguments: cases)
    func table(_ row: (target: String, cookie: String?, expected: Expected)) throws {
        let fields = row.cookie.map { [("Cookie", $0)] } ?? []
        let request = try RequestHead(method: "GET", target: row.target, fields: fields)
        switch policy.verdict(on: request) {
        case .granted: expect(row.expected, equals: .granted)
        case .grantedWithCookie(let cookie):
            expect(row.expected, equals: .cookie)
            let parts = cookie.split(separator: "; ").map(String.init)
            expect(parts.first, equals: "castree_token_1=s3cret")
            for attribute in ["Path=/", "HttpOnly", "SameSite=Strict"] {
                expect(parts.contains(attribute))
            }
        case .refused(let response):
            expect(row.expected, equals: .refused)
            expect(response.head.status, equals: 403)
        }
    }
}
