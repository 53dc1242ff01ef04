import CTLS
public import Platform

/// What all TLS connections of one kind share: a client's trust, or a server's certificate.
///
/// `@unchecked`: it never changes after it is made, and libssl counts its references itself.
package final class TLSContext: @unchecked Sendable {
    let raw: OpaquePointer

    private init(isServer: Bool) throws(StoreError) {
        guard let raw = castree_tls_context(isServer ? 1 : 0) else {
            throw StoreError(.io, "unable to set up TLS; is there enough memory?")
        }
        self.raw = raw
    }

    deinit { SSL_CTX_free(raw) }

    /// For connections to servers, whose certificates must lead to an authority of this system or of `authorities`, a
    /// file of certificates (PEM).
    /// - Throws: `.badCertificate`.
    package static func client(authorities: String?) throws(StoreError) -> TLSContext {
        let context = try TLSContext(isServer: false)
        guard castree_tls_verify_peers(context.raw) == 1 else {
            throw StoreError(.io, "unable to set up TLS; is there enough memory?")
        }
        let hasSystem = AuthorityFiles.load(into: context.raw)
        if let authorities {
            try CertificateFile.check(authorities, "the authorities' file")
            guard SSL_CTX_load_verify_file(context.raw, authorities) == 1 else {
                throw refusal(
                    "\(printable(authorities)) holds no certificate in PEM; give the authority's "
                        + "certificate, which begins with -----BEGIN CERTIFICATE-----")
            }
        } else if !hasSystem {
            throw refusal(
                "this system has no list of certificate authorities, so no https server can be "
                    + "trusted; install ca-certificates, or name a file with --proxy-ca")
        }
        return context
    }

    /// For connections that are accepted.
    /// - Throws: `.badCertificate` with a sentence that names the file.
    package static func server(_ certificate: ServerCertificate) throws(StoreError) -> TLSContext {
        let context = try TLSContext(isServer: true)
        castree_tls_server_protocols(context.raw)
        let (chain, key) = (certificate.certificateFile, certificate.keyFile)
        try CertificateFile.check(chain, "the certificate")
        try CertificateFile.check(key, "the key")
        guard SSL_CTX_use_certificate_chain_file(context.raw, chain) == 1 else {
            throw refusal(
                "\(printable(chain)) holds no certificate in PEM; it should begin with "
                    + "-----BEGIN CERTIFICATE-----, the server's own first, then its authorities'")
        }
        switch castree_tls_use_key(context.raw, key) {
        case 0: return context
        case 1:
            throw refusal(
                "the key \(printable(key)) is encrypted; decrypt it (openssl pkey -in KEY -out NEW) "
                    + "and protect the file by its mode")
        case 2:
            throw refusal(
                "\(printable(key)) holds no private key in PEM; it should have a line "
                    + "-----BEGIN PRIVATE KEY-----")
        default:
            throw refusal(
                "the key \(printable(key)) does not belong to the certificate \(printable(chain)); "
                    + "give the pair that was made together")
        }
    }

    private static func refusal(_ sentence: String) -> StoreError {
        StoreError(.badCertificate, sentence)
    }

    package func names(_ host: String) -> Bool { castree_tls_names(raw, host) == 1 }

    /// What is wrong with the certificate's validity period; `nil` if nothing is.
    package var objection: String? {
        switch castree_tls_certificate_time(raw) {
        case 0: nil
        case 1: "the certificate is not valid yet; browsers refuse it"
        default: "the certificate has expired; browsers refuse it"
        }
    }
}

/// Where systems keep their trusted certificates, which a libssl that a program brings along may not know.
enum AuthorityFiles {
    private static let places = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",  // openSUSE
        "/etc/ssl/cert.pem",  // Alpine, the BSDs, macOS
    ]

    /// Adds the system's authorities, or those of `SSL_CERT_FILE` if it is set.
    /// - Returns: whether there are any.
    static func load(into context: OpaquePointer) -> Bool {
        if let named = castree_tls_named_authorities() {
            return SSL_CTX_load_verify_file(context, named) == 1
        }
        for place in places where SSL_CTX_load_verify_file(context, place) == 1 { return true }
        return false
    }
}

enum CertificateFile {
    /// Refuses a file that cannot be read, with the system's reason.
    static func check(_ path: String, _ what: String) throws(StoreError) {
        do throws(StoreError) {
            _ = try POSIXFileSystem().openRegular(
                POSIXFileSystem.workingDirectory, path, limit: 16 << 20)
        } catch {
            throw StoreError(
                .badCertificate, "\(what) \(printable(path)) cannot be read: \(error.message)",
                cause: error.cause)
        }
    }
}

/// The certificate by which a server proves its name.
public struct ServerCertificate: Sendable, Hashable {
    /// A file in PEM: the server's certificate first, then the chain to its authority.
    public var certificateFile: String
    /// A file in PEM: the private key, unencrypted.
    public var keyFile: String

    /// Names the two files, which are read when the server is made.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

extension StoreError.Code {
    /// A certificate, its key or a list of authorities is unusable.
    public static let badCertificate = Self("badCertificate")
}
