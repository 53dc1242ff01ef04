import ProgramTestSupport

/// A server whose certificate nobody trusts, or that speaks the other of http and https: what is said of it.
@Suite struct CertificateTests {
    let place = Workplace()

    /// A server at an https address, with a certificate that it has signed itself.
    private func secureServer() throws -> (served: Served, port: String) {
        try place.add("1", Release.first)
        try place.castree("activate", "1")
        try ServeTLSTests.makeCertificate("cert", in: place)
        let served = try Served(place, ["--certificate", "cert.pem", "--key", "cert.key"])
        let marker = "https://localhost:"
        let start = try require(served.ready.firstRange(of: marker)).upperBound
        return (served, String(served.ready[start...].prefix { $0.isNumber }))
    }

    /// Whatever reaches an origin over a network: in an URL, and in a bucket.
    private static let commands = [
        ["pull", "URL"], ["pull", "URL", "--dry-run"], ["channels", "URL"],
        ["pull", "BUCKET"], ["channels", "BUCKET"], ["publish", "1", "BUCKET"],
        ["withdraw", "1", "BUCKET"], ["prune", "BUCKET"], ["du", "BUCKET"], ["fsck", "BUCKET"],
        ["publish", "1", "BUCKET", "--dry-run"],
    ]

    @Test func `every command says how a certificate is trusted that nobody has signed`() throws {
        let (served, port) = try secureServer()
        let server = "https://localhost:\(port)"
        let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CA_BUNDLE": ""]
        for command in Self.commands {
            let isBucket = command.contains("BUCKET")
            let words =
                command.map { $0 == "URL" ? server : $0 == "BUCKET" ? "s3://bucket/app" : $0 }
                + ["--retries", "0"] + (isBucket ? ["--endpoint", server] : [])
            let doubting = try place.run(.castree, words, environment: keys)
            expect(
                doubting.status != 0 && doubting.errors.contains("--cacert FILE"),
                "\(command): \(doubting)")
            let trusting = try place.run(
                .castree, words + ["--cacert", "cert.pem"], environment: keys)
            // It is no origin; but that is known only to who has read an answer.
            expect(!trusting.errors.contains("ertificate"), "\(command): \(trusting)")
            expect(!trusting.errors.contains("no option"), "\(command): \(trusting)")
        }
        withExtendedLifetime(served) {}
    }

    @Test func `a server says which option of its own trusts it`() throws {
        let (served, port) = try secureServer()
        let kiosk = try Kiosk(place, "https://localhost:\(port)", ["--pull-option", "--retries=0"])
        try kiosk.hear("unable to update", "--pull-option --cacert=FILE")
        withExtendedLifetime(served) {}
    }

    @Test func `the wrong one of http and https is called that`() throws {
        let (served, port) = try secureServer()
        let answer = try place.castree("pull", "http://localhost:\(port)", "--retries", "0")
        expect(answer.errors.contains("https, not http?"), "\(answer)")
        let plain = try Served(place)
        let plainPort = try require(plain.ready.split(separator: ":").last).prefix { $0.isNumber }
        let other = try place.castree("pull", "https://localhost:\(plainPort)", "--retries", "0")
        expect(other.errors.contains("http, not https?"), "\(other)")
        withExtendedLifetime((served, plain)) {}
    }
}
