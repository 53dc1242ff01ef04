package import CASStore
import HotPush

/// Something that signs by one key: the key itself, or a program that has it.
package protocol PointerSigner: Sendable {
    var key: VerificationKey { get }
    /// What it has signed last; `nil` if nobody remembers.
    var memory: SignedSequences? { get }
    /// The 64 bytes of its signature of some bytes.
    /// - Throws: why it does not sign.
    func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8]
}

/// A private key in a file.
package struct KeyFileSigner: PointerSigner {
    private let signingKey: SigningKey
    package let memory: SignedSequences?
    package var key: VerificationKey { signingKey.verificationKey }

    /// - Throws: as ``SigningKey/init(file:_:)``.
    package init(
        file path: String, _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        signingKey = try SigningKey(file: path, fileSystem)
        memory = SignedSequences(
            of: signingKey.verificationKey.id, beside: path, fileSystem)
    }

    package func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] {
        try signingKey.sign(bytes)
    }
}

extension [any PointerSigner] {
    /// The signatures of some bytes by all of them, sorted by key.
    ///
    /// Each is verified, because a program may have another key than it claims.
    /// - Throws: what a signer throws; `.badKey` for one whose signature does not verify.
    func sign(_ bytes: [UInt8]) throws(StoreError) -> [PointerSignature] {
        var signatures: [PointerSignature] = []
        for signer in self {
            let signature = try signer.sign(bytes)
            guard signer.key.verifies(signature, of: bytes) else {
                throw .badKey(
                    "what should sign by key \(signer.key.id) has made a signature that does not verify by it: is it "
                        + "the right key?")
            }
            signatures.append(PointerSignature(key: signer.key.id, signature: signature))
        }
        return signatures.sorted { $0.key < $1.key }
    }
}
