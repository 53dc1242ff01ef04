import CTLS
import Platform

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
