public import Platform

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
