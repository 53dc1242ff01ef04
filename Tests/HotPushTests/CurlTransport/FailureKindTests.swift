import CCurl
import Expectations
import HotPush

@testable import CurlTransport

/// libcurl-errors(3), code by code.
@Suite("The kind of a failure") struct FailureKindTests {
    typealias Kind = TransferFailure.Kind

    static let kinds: [(Kind, ClosedRange<UInt32>)] = [
        (.resolve, 5...6), (.connect, 7...7), (.malformed, 8...8), (.broken, 16...16),
        (.broken, 18...18), (.malformed, 22...23), (.timeout, 28...28), (.malformed, 33...33),
        (.security, 35...35), (.malformed, 36...36), (.redirect, 47...47), (.broken, 52...52),
        (.security, 53...54), (.broken, 55...56), (.security, 58...60), (.malformed, 61...61),
        (.security, 64...64), (.broken, 65...65), (.security, 66...66), (.security, 77...77),
        (.broken, 80...81), (.security, 82...83), (.connect, 89...89), (.security, 90...91),
        (.broken, 92...92), (.broken, 95...95), (.connect, 96...97), (.security, 98...98),
        // Before the request is sent these are its own fault, afterwards the answer's.
        (.malformed, 1...1), (.malformed, 27...27), (.malformed, 100...100),
    ]

    static func expected(_ code: UInt32) -> Kind {
        kinds.first { $0.1.contains(code) }?.0 ?? .request
    }

    @Test(arguments: 1...105 as ClosedRange<UInt32>)
    func `follows from libcurl's code`(_ code: UInt32) {
        let kind = FailureKinds.kind(of: CURLcode(code), hasSent: true, message: "")
        expect(kind, equals: Self.expected(code))
    }

    @Test(
        arguments: [
            (1, .request), (27, .request), (28, .connect), (100, .request), (56, .broken),
            (7, .connect),
        ] as [(UInt32, Kind)])
    func `differs before the request is sent`(_ code: UInt32, _ kind: Kind) {
        expect(FailureKinds.kind(of: CURLcode(code), hasSent: false, message: ""), equals: kind)
    }

    @Test(
        "tells a handshake that was cut from one that was refused",
        arguments: [
            ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:443 ", .connect),
            ("OpenSSL SSL_connect: Connection reset by peer in connection to h:443 ", .connect),
            (
                "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading",
                .connect
            ),
            ("error:0A00010B:SSL routines::wrong version number", .security),
            ("error:0A000410:SSL routines::sslv3 alert handshake failure", .security),
            ("", .security),
        ] as [(String, Kind)])
    func handshake(_ message: String, _ kind: Kind) {
        expect(
            FailureKinds.kind(of: CURLE_SSL_CONNECT_ERROR, hasSent: false, message: message),
            equals: kind
        )
    }

    @Test("says what follows a compressed body, and nothing of a disk")
    func trailing() {
        let failure = FailureKinds.failure(
            of: CURLE_WRITE_ERROR, hasSent: true,
            message: "Failed writing received data to disk/application", url: "https://h/")
        expect(failure.kind, equals: .malformed)
        expect(failure.message.contains("Content-Encoding"))
        expect(!failure.message.contains("disk"))
    }

    @Test(
        "names the option that trusts a certificate which nobody trusts, and only there",
        arguments: [
            ("SSL certificate problem: self-signed certificate", true),
            ("SSL certificate problem: self signed certificate", true),
            ("SSL certificate problem: self-signed certificate in certificate chain", true),
            ("SSL certificate problem: unable to get local issuer certificate", true),
            ("SSL certificate problem: unable to get issuer certificate", true),
            ("SSL certificate problem: certificate has expired", false),
            ("SSL: no alternative certificate subject name matches target host name 'h'", false),
        ] as [(String, Bool)])
    func authority(_ message: String, _ isNamed: Bool) {
        let failure = FailureKinds.failure(
            of: CURLE_PEER_FAILED_VERIFICATION, hasSent: false, message: message, url: "https://h/")
        expect(failure.message.contains("--cacert FILE"), equals: isNamed)
        expect(failure.kind, equals: .security)
    }

    @Test func `comes with a sentence even when libcurl says nothing, and with the URL`() {
        let failure = FailureKinds.failure(
            of: CURLE_COULDNT_CONNECT, hasSent: false, message: "", url: "http://u:p@h/\u{1B}[2J")
        expect(failure.kind, equals: .connect)
        expect(!failure.message.hasPrefix(":"))
        expect(failure.message.hasSuffix("http://h/\\u{1b}[2J"))
    }
}
