import CurlTransport
import Expectations

@testable import HotPush

/// The transport against a server that thousands of publishers use.
@Suite(
    "A transfer from nginx",
    .enabled(if: Nginx.isInstalled, "nginx is not installed (apt install nginx-light)"))
struct NginxTests {
    @Test func `is resumed with a range and the tag of the first part`() throws {
        let nginx = try Nginx()
        let bytes = sampleBytes(100_000)
        try nginx.put("f", bytes)
        let client = CollectingClient([TransferRequest(id: 0, url: nginx.url + "/f")])
        client.goesOn = { _, count in count < 30_000 }
        try run(client)
        let first = try require(client.results[0])
        let head = try require(first.head)
        expect(first.outcome, equals: .refused)

        let part = StagedPart(
            byteCount: Int64(first.bytes.count), wholeByteCount: 100_000,
            validator: Validator(head), isProvable: false)
        guard case .rest(let offset, let ifRange) = part.question else {
            throw Unexpected("nginx sends strong tags: \(head.fields)")
        }
        let second = try fetch(nginx.url + "/f", .local) {
            $0.offset = offset
            $0.ifRange = ifRange
        }
        let answer = try require(second.head)
        expect(Resumption.use(of: answer, for: part, asked: part.question), equals: .append)
        expect(first.bytes + second.bytes, equals: bytes)

        // At its end there is nothing more.
        let past = try fetch(nginx.url + "/f", .local) { $0.offset = 100_000 }
        let unknown = StagedPart(byteCount: 100_000, isProvable: true)
        expect(
            Resumption.use(of: try require(past.head), for: unknown, asked: unknown.question),
            equals: .complete)

        // Another file under the same name: the tag does not hold any more.
        try nginx.put("f", sampleBytes(100_000, seed: 2) + [1])
        let changed = try fetch(nginx.url + "/f", .local) {
            $0.offset = offset
            $0.ifRange = ifRange
        }
        expect(changed.status, equals: 200)
        expect(changed.bytes, equals: sampleBytes(100_000, seed: 2) + [1])
    }

    @Test func `is as it stands on disk, unless encodings are asked for`() throws {
        let nginx = try Nginx()
        let text = Array(String(repeating: "so much of the same ", count: 5000).utf8)
        try nginx.put("f.txt", text)
        let plain = try fetch(nginx.url + "/f.txt")
        expect(plain.head?["content-encoding"] == nil)
        expect(plain.head?["content-length"], equals: "100000")
        expect(plain.bytes, equals: text)
        let encoded = try fetch(nginx.url + "/f.txt", .local) { $0.acceptsEncodings = true }
        expect(encoded.head?["content-encoding"], equals: "gzip")
        expect(encoded.bytes, equals: text)
    }
}

@Suite(
    "A transfer over TLS",
    .enabled(if: Nginx.hasTLS, "nginx or openssl is not installed"))
struct TLSTests {
    private func served() throws -> Nginx {
        let nginx = try Nginx(tls: true)
        for number in 0..<50 {
            try nginx.put("\(number)", sampleBytes(20_000, seed: UInt64(number)))
        }
        return nginx
    }

    private func options(_ nginx: Nginx) -> TransportOptions {
        .local.with { $0.certificatesFile = nginx.certificate }
    }

    @Test(arguments: [true, false])
    func `speaks HTTP/2 where it is offered, all on one connection`(_ isHTTP2Allowed: Bool) throws {
        let nginx = try served()
        let client = CollectingClient(
            (0..<50).map { TransferRequest(id: $0, url: nginx.tlsURL + "/\($0)") })
        try run(client, options(nginx).with { $0.isHTTP2Allowed = isHTTP2Allowed })
        for number in 0..<50 {
            expect(client.results[number]?.outcome, equals: .finished)
            expect(client.results[number]?.status, equals: 200)
            expect(client.results[number]?.bytes, equals: sampleBytes(20_000, seed: UInt64(number)))
        }
        let log = try nginx.log()
        expect(log.count, equals: 50)
        expect(log.allSatisfy { $0.version == (isHTTP2Allowed ? "HTTP/2.0" : "HTTP/1.1") })
        expect(Set(log.map(\.connection)).count <= (isHTTP2Allowed ? 1 : 16))
    }

    @Test func `is not made with a certificate that nobody trusts`() throws {
        let nginx = try served()
        let result = try fetch(nginx.tlsURL + "/1")
        expect(result.failure, equals: .security)
        expect(result.head == nil)
        expect(result.message.contains(nginx.tlsURL))
        try expect(nginx.log().isEmpty)
    }

    @Test func `is not made with another name's certificate`() throws {
        let nginx = try served()
        let url = nginx.tlsURL.replacing("localhost", with: "localhost.localdomain.invalid")
        let result = try fetch("https://127.0.0.2:\(nginx.tlsPort)/1", options(nginx))
        // 127.0.0.2 is this machine, but not in the certificate; nobody listens there on some systems.
        expect(result.failure == .security || result.failure == .connect)
        try expect(fetch(url, options(nginx)).failure, equals: .resolve)
    }

    @Test func `is not made without the file of certificates`() throws {
        let nginx = try served()
        let result = try fetch(
            nginx.tlsURL + "/1", .local.with { $0.certificatesFile = "/nowhere/certificates.pem" })
        expect(result.failure, equals: .security)
    }

    @Test(
        "ends as connect if the handshake is cut: the network may be better next time",
        arguments: [Fault.Ending.closed, .reset])
    func cutHandshake(_ ending: Fault.Ending) throws {
        let origin = try FaultyOrigin()
        origin.slam(ending)
        let result = try fetch(origin.url.replacing("http:", with: "https:") + "/f")
        expect(result.failure, equals: .connect, "\(result.message)")
    }

    @Test func `ends as connect if the handshake is never answered`() throws {
        let origin = try FaultyOrigin()
        let result = try fetch(
            origin.url.replacing("http:", with: "https:") + "/f",
            .local.with { $0.connectTimeout = .milliseconds(300) })
        expect(result.failure, equals: .connect, "\(result.message)")
    }

    @Test func `ends as security if the peer speaks no TLS`() throws {
        let nginx = try Nginx()
        let result = try fetch(nginx.url.replacing("http:", with: "https:") + "/f")
        expect(result.failure, equals: .security, "\(result.message)")
    }

    @Test func `is not left for a plain one by a redirect; the other way is open`() throws {
        let nginx = try served()
        let down = try fetch(nginx.tlsURL + "/to-plain/1", options(nginx))
        expect(down.failure, equals: .redirect)
        expect(down.message.contains("from https to http"))
        let up = try fetch(nginx.url + "/to-tls/1", options(nginx))
        expect(up.outcome, equals: .finished)
        expect(up.bytes, equals: sampleBytes(20_000, seed: 1))
        expect(up.head?.url, equals: nginx.tlsURL + "/1")
    }
}
