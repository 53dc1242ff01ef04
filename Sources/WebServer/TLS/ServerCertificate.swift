public import Platform

/// The certificate by which a server proves its name.
public struct ServerCertificate: Sendable, Hashable {
    /// A file in PEM: the server's certificate first, then those that lead to its authority.
    public var certificateFile: String
    /// A file in PEM: its private key, not encrypted.
    public var keyFile: String

    /// Names the two files; they are read when the server is made.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

extension StoreError.Code {
    /// A certificate, its key or a list of authorities that cannot be used.
    public static let badCertificate = Self("badCertificate")
}
