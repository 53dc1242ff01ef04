public import CASStore
import HotPush
import Storage
import VersionTree

/// How a publisher signs what it offers, and which pointers it builds upon.
///
/// A pointer is made from the one before it, so its signature covers what others may have put there. So that one must
/// be signed by those whom the publisher trusts, and be no older than what the publisher has signed.
public struct PointerSigning: Sendable {
    /// For how long devices obey what is signed.
    public enum Expiry: Sendable, Hashable {
        /// As long as the pointer that it replaces.
        case kept
        /// For as long as nothing newer is there.
        case never
        /// For so many seconds from now.
        case after(Int64)
    }

    /// Without signers, pointers are not signed.
    package var signers: [any PointerSigner] = []
    /// All of these must have signed a pointer to build upon; if empty, all signers.
    package var trusted: [VerificationKey] = []
    /// For how long devices obey a pointer that is signed now.
    public var expiry = Expiry.kept
    /// Whether a pointer may be replaced by one with fewer signatures, or none.
    package var allowsFewer = false
    /// Whether to build upon what is there, because somebody has looked at it.
    public var adopts = false
    /// The id of an origin whose pointers are lost.
    package var origin: String?

    /// Signs nothing.
    public init() {}

    /// Signs by private keys, each in a PEM file as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// What each has signed last is kept beside its file, so that nothing older is signed.
    /// - Throws: `.permission` if others can read a file; `.badKey` for one without such a key, or for a key that is
    ///   named twice; `.unsupported` for a key with a passphrase; `.notFound`.
    public init(keyFiles: [String]) throws(StoreError) {
        for file in keyFiles { signers.append(try KeyFileSigner(file: file)) }
        try validate()
    }

    var isSigning: Bool { !signers.isEmpty }

    /// Checks what needs no origin.
    /// - Throws: `.badKey` for keys that are named twice or are too many.
    package func validate() throws(StoreError) {
        if isSigning { _ = try TrustedKeys(signers.map(\.key)) }
        if !trusted.isEmpty { _ = try TrustedKeys(trusted) }
    }

    /// - Throws: `.badKey` if nobody signs.
    func requireSigner() throws(StoreError) {
        guard !isSigning else { return try validate() }
        throw .badKey("no key is given: name one with --sign-key or --sign-command")
    }

    /// What a pointer takes over from existing ones.
    struct Base: Sendable {
        var origin: String
        var trustVersion: Int64?
        /// Whether the origin has lost that version, which devices that are behind need.
        var lacksTrust = false
    }

    /// Refuses untrusted pointers (`.untrusted`) before any work is done.
    /// - Parameter pointers: those of all channels; without signers the one of the channel is enough.
    func check(
        _ channel: ChannelName, upon pointers: [ChannelName: ChannelPointer],
        in origin: any ObjectStorage
    ) throws(StoreError) {
        if isSigning {
            _ = try base(of: channel, upon: pointers, origin)
        } else {
            try checkUnsigned(pointers[channel], origin.identity)
        }
    }

    /// The pointer as it is to be written: signed, if there are signers.
    /// - Parameters:
    ///   - pointers: what it is built upon.
    ///   - isTold: whether it is known why one that was signed is not there.
    ///   - notice: gets what is adopted.
    /// - Throws: `.untrusted` as ``check(_:upon:in:)``; `.badPointer` for one that cannot be signed; signer errors.
    func sign(
        _ pointer: ChannelPointer, upon pointers: [ChannelName: ChannelPointer],
        in origin: any ObjectStorage, now: Int64, isTold: Bool = false,
        notice: (String) -> Void
    ) throws(StoreError) -> ChannelPointer {
        var signed = pointer
        signed.signatures = []
        guard isSigning else {
            try checkUnsigned(pointers[pointer.channel], origin.identity)
            signed.expiresAt = nil
            return signed
        }
        let before = pointers[pointer.channel]
        let base = try base(of: pointer.channel, upon: pointers, origin)
        if base.lacksTrust, let version = base.trustVersion {
            notice(
                "\(OriginLayout.trust(version)) is not in \(origin.identity), and devices that are behind cannot follow; "
                    + TrustFile.remedy + TrustFile.otherwise)
        }
        if adopts {
            notice(try adoption(of: before, pointer.channel, base.origin))
            let dropped = before.map(unknownKeys) ?? []
            let forged = dropped.filter { id in known.contains { $0.id == id } }
            for (ids, why) in [
                (dropped.filter { !forged.contains($0) }, "which is not known here"),
                (forged, "which has not signed it: the signature does not match"),
            ] where !ids.isEmpty {
                notice(
                    "dropping from channel \(pointer.channel) what is signed as key \(ids.joined(separator: ", ")), \(why)"
                )
            }
        }
        (signed.origin, signed.trustVersion) = (base.origin, base.trustVersion)
        let used = try raise(&signed, in: base.origin)
        if !isTold, let before, before.origin == base.origin, used > before.sequence {
            notice(
                "sequence \(used) of channel \(before.channel) was signed and is not in \(origin.identity), which offers "
                    + "\(before.sequence): an older state of the origin was put back, or the command that signed it was cut "
                    + "short, or runs still; if what it was to change is wanted, repeat it")
        }
        return try sign(signed, now: Self.present(now, upon: pointers.values))
    }

    func sign(_ pointer: ChannelPointer, now: Int64) throws(StoreError) -> ChannelPointer {
        var signed = pointer
        signed.expiresAt = try end(of: pointer, now: now)
        if let objection = signed.objectionToSigning {
            throw StoreError(
                .badPointer,
                "the pointer of channel \(pointer.channel) cannot be signed: \(objection)")
        }
        signed.signatures = try signers.sign(signed.signedBytes)
        return signed
    }

    /// The present for devices that have accepted these pointers: their latest time, unless no device remembers it.
    static func present(_ now: Int64, upon pointers: some Sequence<ChannelPointer>) -> Int64 {
        pointers.map(\.createdAt).filter { SequenceBound.allows($0, at: now) }.max().map {
            max($0, now)
        } ?? now
    }

    /// When a pointer that is signed now expires.
    ///
    /// Devices take the latest time in an accepted pointer for the present. After a pointer signed by a fast clock,
    /// the time of later ones begins there, too.
    /// - Throws: `.badPointer` if that is over.
    func end(of pointer: ChannelPointer, now: Int64) throws(StoreError) -> Int64? {
        let begin = Self.present(now, upon: [pointer])
        let end: Int64? =
            switch expiry {
            case .kept: pointer.expiresAt
            case .never: nil
            case .after(let seconds): begin + seconds
            }
        guard let end, end <= begin else { return end }
        throw StoreError(
            .badPointer,
            "channel \(pointer.channel) was signed for a time that is over, and no device would obey a new signature; give --valid-for TIME"
        )
    }

    /// Whether to sign a pointer even though it already offers what is wanted.
    ///
    /// Adopting an unsigned channel, restored from a backup, puts it above what devices have seen. A signed pointer
    /// is renewed if a signature is missing, its expiry is to change, or it has expired.
    func renews(_ pointer: ChannelPointer, now: Int64) -> Bool {
        guard isSigning else { return adopts }
        guard pointer.signatures.map(\.key) == signers.map(\.key.id).sorted() else { return true }
        switch expiry {
        case .kept: return pointer.expiresAt.map { $0 <= now } ?? false
        case .never: return pointer.expiresAt != nil
        case .after: return true
        }
    }

    /// Whether all required keys have signed a pointer.
    /// - Parameter origin: the id of the expected origin; `nil` for any.
    func verifies(_ content: SignedBytes, of origin: String?) throws(StoreError) -> Bool {
        let keys = try required
        return content.origin == origin ?? content.origin
            && keys.signers(of: content.signedBytes, content.signatures).count == keys.threshold
    }

    /// Whether any of the keys that sign now has signed a trust file.
    func haveSigned(_ file: TrustFile) throws(StoreError) -> Bool {
        let keys = try TrustedKeys(signers.map(\.key))
        return !keys.signers(of: file.signedBytes, file.signatures).isEmpty
    }

    /// Whether all required keys have signed a trust file.
    func hasMade(_ file: TrustFile, of origin: String) throws(StoreError) -> Bool {
        let keys = try required
        return file.origin == origin
            && keys.signers(of: file.signedBytes, file.signatures).count == keys.threshold
    }

    // MARK: What is built upon

    private func checkUnsigned(_ before: ChannelPointer?, _ place: String) throws(StoreError) {
        guard let before, before.isSigned, !allowsFewer else { return }
        let keys = before.signatures.map(\.key).joined(separator: ", ")
        throw .untrusted(
            "channel \(before.channel) of \(place) is signed by key \(keys): devices would refuse an unsigned one; sign with --sign-key, or give --unsigned"
        )
    }

    /// - Throws: `.untrusted` for a pointer that must not be built upon.
    private func base(
        of channel: ChannelName, upon pointers: [ChannelName: ChannelPointer],
        _ origin: any ObjectStorage
    ) throws(StoreError) -> Base {
        try counted(uncounted(of: channel, upon: pointers, origin), in: origin)
    }

    private func uncounted(
        of channel: ChannelName, upon pointers: [ChannelName: ChannelPointer],
        _ origin: any ObjectStorage
    ) throws(StoreError) -> Base {
        let place = origin.identity
        if let before = pointers[channel] {
            if !adopts {
                do throws(StoreError) {
                    try checkTrusted(before, place)
                } catch {
                    throw try unreached(before, in: origin) ?? error
                }
            }
            if !allowsFewer { try checkCount(before, place) }
            if let known = before.origin {
                if !adopts { try checkOrigin(known, of: pointers, origin) }
                guard self.origin == nil || self.origin == known || adopts else {
                    throw Self.foreign(known, place)
                }
                if !adopts { try checkSequence(of: before, place) }
                return Base(origin: self.origin ?? known, trustVersion: before.trustVersion)
            }
        }
        return try base(besides: channel, pointers, origin)
    }

    /// - Throws: `.untrusted` if more keys have signed the existing pointer than sign now.
    private func checkCount(_ before: ChannelPointer, _ place: String) throws(StoreError) {
        guard before.signatures.count > signers.count else { return }
        let unknown = unknownKeys(of: before)
        let known = before.signatures.count - unknown.count
        guard known <= signers.count else {
            throw .untrusted(
                "channel \(before.channel) of \(place) is signed by \(known == 1 ? "1 key" : "\(known) keys"), and \(signers.count) would sign now: "
                    + "devices may ask for all of them; name the others, too, or give --unsigned")
        }
        guard !adopts else { return }
        throw .untrusted(
            "channel \(before.channel) of \(place) has also a signature that names key "
                + "\(unknown.joined(separator: ", ")), and it cannot be verified here: if devices require that key, sign with it, too; if a stranger has added it, --adopt drops it"
        )
    }

    private var known: [VerificationKey] { signers.map(\.key) + trusted }

    /// The keys that a pointer's signatures name, and that are unknown here or have not signed it.
    private func unknownKeys(of pointer: ChannelPointer) -> [String] {
        let signedBytes = pointer.signedBytes
        return pointer.signatures.filter { signature in
            !known.contains {
                $0.id == signature.key && $0.verifies(signature.signature, of: signedBytes)
            }
        }.map(\.key)
    }

    /// Whether a known key has signed a pointer, possibly among others.
    func knowsSigner(of pointer: ChannelPointer) -> Bool {
        unknownKeys(of: pointer).count < pointer.signatures.count
    }

    /// Whether a known key has signed a pointer for an origin.
    /// - Parameter origin: its id; `nil` for any.
    func knows(_ pointer: ChannelPointer, of origin: String?) -> Bool {
        pointer.origin == origin ?? pointer.origin && knowsSigner(of: pointer)
    }

    static func foreign(_ origin: String, _ place: String) -> StoreError {
        .untrusted("\(place) is the origin \(origin), not that of --origin-id")
    }

    private func checkTrusted(_ before: ChannelPointer, _ place: String) throws(StoreError) {
        let required = try required
        let judgement = required.judge(before)
        guard let objection = judgement.objection else { return }
        let whose = trusted.isEmpty ? "the keys that sign now" : "the keys of --trust"
        throw .untrusted(
            before.isSigned
                ? "channel \(before.channel) of \(place) is not signed by \(whose), so nothing is built upon it: \(objection); name the key that signed it with --trust, or look at what it offers and use --adopt (if the keys were changed after that, first castree fsck ORIGIN --repair --from COPY)"
                : "channel \(before.channel) of \(place) is not signed, and signing covers everything that it offers; look at that (castree channels), then use --adopt"
        )
    }

    /// All of these must have signed a pointer to build upon.
    ///
    /// Fewer would not do: if devices ask for two signatures, the thief of one key could have the other one sign.
    var required: TrustedKeys {
        get throws(StoreError) {
            let keys = trusted.isEmpty ? signers.map(\.key) : trusted
            return try TrustedKeys(keys, threshold: keys.count)
        }
    }

    private func adoption(
        of before: ChannelPointer?, _ channel: ChannelName, _ origin: String
    ) throws(StoreError) -> String {
        let releases = (before?.releases ?? []).map { release in
            release.version.map { "version \($0.name) (manifest \($0.manifest))" }
                ?? "the version shipped with the app"
        }
        var stranger = ""
        if let before, try !verifies(before.signedContent, of: origin) {
            stranger =
                "; the adopted pointer of sequence \(before.sequence) was not signed for this origin by keys trusted here"
        }
        return "signing channel \(channel) of origin \(origin) with all that it offers already: "
            + (releases.isEmpty ? "nothing" : releases.joined(separator: ", ")) + stranger
    }
}

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
        memory = SignedSequences(of: signingKey.verificationKey.id, beside: path, fileSystem)
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
