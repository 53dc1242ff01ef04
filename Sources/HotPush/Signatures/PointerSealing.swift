package import CASStore
import VersionTree

/// How a publisher signs what it offers, and what it builds upon.
///
/// A pointer is made from the one before it: who signs it signs what others may have put there. So the pointer that is
/// built upon must be signed by those whom the publisher trusts, and be no older than what the publisher has signed.
package struct PointerSealing: Sendable {
    /// How long what is signed may be obeyed.
    package enum Expiry: Sendable, Hashable {
        /// As long as what it replaces.
        case kept
        case never
        /// For so many seconds.
        case after(Int64)
    }

    /// Who signs; without any, pointers are not signed.
    package var signers: [any PointerSigner] = []
    /// Each of these must have signed what is built upon; without any, each of the signers.
    package var trusted: [VerificationKey] = []
    package var expiry = Expiry.kept
    /// Whether a pointer may be replaced by one that fewer keys have signed, or none.
    package var allowsFewer = false
    /// Whether what is built upon is taken as it is: it was looked at.
    package var adopts = false
    /// The id of the origin, where its pointers are lost.
    package var origin: String?

    package init() {}

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
        throw StoreError(.badKey, "nobody signs: name a key by --sign-key or --sign-command")
    }

    /// What a pointer takes over from those that are there.
    struct Base: Sendable {
        var origin: String
        var trustVersion: Int64?
    }

    /// Refuses what must not be built upon, before any work is done.
    ///
    /// - Parameters:
    ///   - pointers: those of all channels; without signers the one of the channel is enough.
    ///   - place: the origin, for messages.
    ///   - marker: the id that the origin's marker says.
    /// - Throws: `.untrusted`.
    func check(
        _ channel: ChannelName, upon pointers: [ChannelName: ChannelPointer], in place: String,
        marker: () throws(StoreError) -> String?
    ) throws(StoreError) {
        if isSigning {
            _ = try base(of: channel, upon: pointers, place, marker)
        } else {
            try checkUnsigned(pointers[channel], place)
        }
    }

    /// The pointer as it is to be written: signed, if there are signers.
    ///
    /// - Parameters:
    ///   - pointers: what it is built upon.
    ///   - notice: gets what is adopted.
    ///   - marker: the id that the origin's marker says.
    /// - Throws: `.untrusted` as ``check(_:upon:in:marker:)``; `.badPointer` for one that cannot be signed; what a signer throws.
    func seal(
        _ pointer: ChannelPointer, upon pointers: [ChannelName: ChannelPointer], in place: String,
        now: Int64, notice: (String) -> Void, marker: () throws(StoreError) -> String?
    ) throws(StoreError) -> ChannelPointer {
        var sealed = pointer
        sealed.signatures = []
        guard isSigning else {
            try checkUnsigned(pointers[pointer.channel], place)
            sealed.expiresAt = nil
            return sealed
        }
        let before = pointers[pointer.channel]
        let base = try base(of: pointer.channel, upon: pointers, place, marker)
        if adopts { notice(Self.adoption(of: before, pointer.channel, base.origin)) }
        (sealed.origin, sealed.trustVersion) = (base.origin, base.trustVersion)
        if before == nil {
            for signer in signers {
                let last = try signer.memory?.sequence(of: sealed.channel, in: base.origin) ?? 0
                // What devices have seen of a channel that is lost.
                if sealed.sequence <= last { sealed.raise(to: last + 1) }
            }
        }
        return try sign(sealed, now: now)
    }

    /// Signs a pointer as it is.
    func sign(_ pointer: ChannelPointer, now: Int64) throws(StoreError) -> ChannelPointer {
        var sealed = pointer
        switch expiry {
        case .kept: break
        case .never: sealed.expiresAt = nil
        case .after(let seconds): sealed.expiresAt = now + seconds
        }
        if let expiresAt = sealed.expiresAt, expiresAt <= now {
            throw StoreError(
                .badPointer,
                "channel \(pointer.channel) was signed for a time that is over, and nobody would obey what is signed now; "
                    + "say for how long by --valid-for TIME")
        }
        if let objection = sealed.objectionToSigning {
            throw StoreError(
                .badPointer,
                "the pointer of channel \(pointer.channel) cannot be signed: \(objection)")
        }
        sealed.signatures = try signers.sign(sealed.signedBytes)
        return sealed
    }

    /// Whether a pointer that offers what is wanted lacks one of the signatures.
    func isMissing(from pointer: ChannelPointer) -> Bool {
        isSigning && pointer.signatures.map(\.key) != signers.map(\.key.id).sorted()
    }

    /// Whether each of those has signed a pointer who must have signed what is built upon.
    func vouches(for pointer: ChannelPointer) throws(StoreError) -> Bool {
        try required.judge(pointer).objection == nil
    }

    /// Whether each of them has made a version of an origin's trust.
    func hasMade(_ file: TrustFile, of origin: String) throws(StoreError) -> Bool {
        let keys = try required
        return file.origin == origin
            && keys.signers(of: file.signedBytes, file.signatures).count == keys.threshold
    }

    /// Remembers beside the keys what was signed and written.
    func remember(_ pointer: ChannelPointer, notice: (String) -> Void) {
        for memory in signers.compactMap(\.memory) {
            do throws(StoreError) {
                try memory.note(pointer)
            } catch {
                // The pointer stands. Without the note an older one may be put back and built upon.
                notice(
                    "what was signed last could not be noted beside the key (\(error.message)): an old pointer that "
                        + "somebody puts back would not be noticed by the next publisher")
            }
        }
    }

    // MARK: What is built upon

    private func checkUnsigned(
        _ before: ChannelPointer?, _ place: String
    ) throws(StoreError) {
        guard let before, before.isSigned, !allowsFewer else { return }
        let keys = before.signatures.map(\.key).joined(separator: ", ")
        throw StoreError(
            .untrusted,
            "channel \(before.channel) of \(place) is signed by key \(keys): devices would refuse what is not; sign "
                + "with --sign-key, or say --unsigned")
    }

    /// - Throws: `.untrusted` for what must not be built upon.
    private func base(
        of channel: ChannelName, upon pointers: [ChannelName: ChannelPointer], _ place: String,
        _ marker: () throws(StoreError) -> String?
    ) throws(StoreError) -> Base {
        if let before = pointers[channel] {
            if !adopts { try checkVouched(before, place) }
            if before.signatures.count > signers.count, !allowsFewer {
                throw StoreError(
                    .untrusted,
                    "channel \(channel) of \(place) is signed by \(before.signatures.count) keys, and \(signers.count) "
                        + "would sign now: devices may ask for all of them; name the others, too, or say --unsigned"
                )
            }
            if let known = before.origin { return try base(before, as: known, place) }
        }
        return try base(besides: channel, pointers, place, marker)
    }

    private func base(
        _ before: ChannelPointer, as known: String, _ place: String
    ) throws(StoreError) -> Base {
        guard origin == nil || origin == known || adopts else {
            throw StoreError(
                .untrusted, "\(place) is the origin \(known), not that of --origin-id")
        }
        let origin = origin ?? known
        if !adopts { try checkSequence(of: before, place) }
        return Base(origin: origin, trustVersion: before.trustVersion)
    }

    /// What a channel that has no signed pointer takes over from others.
    private func base(
        besides channel: ChannelName, _ pointers: [ChannelName: ChannelPointer], _ place: String,
        _ marker: () throws(StoreError) -> String?
    ) throws(StoreError) -> Base {
        let others = pointers.values.filter { $0.channel != channel && $0.origin != nil }
        let required = try required
        let vouched = others.filter { required.judge($0).objection == nil }
        let ids = Set((adopts && vouched.isEmpty ? others : vouched).compactMap(\.origin))
        guard ids.count == 1 || others.isEmpty || origin != nil else {
            throw StoreError(
                .untrusted,
                "the channels of \(place) do not say together which origin it is, signed by the keys that are trusted "
                    + "here; look at them, then use --adopt or --origin-id")
        }
        if let origin, let known = ids.first, known != origin, !vouched.isEmpty {
            throw StoreError(
                .untrusted, "\(place) is the origin \(known), not that of --origin-id")
        }
        let trustVersion = vouched.compactMap(\.trustVersion).max()
        var known = origin ?? ids.first
        if known == nil { known = try lost(marker, place) }
        guard let known else {
            return Base(origin: try randomToken() + randomToken(), trustVersion: trustVersion)
        }
        if pointers[channel] == nil, origin == nil, !adopts {
            for signer in signers {
                guard let last = try signer.memory?.sequence(of: channel, in: known) else {
                    continue
                }
                throw StoreError(
                    .untrusted,
                    "key \(signer.key.id) has signed sequence \(last) of channel \(channel), which is not in \(place) any "
                        + "more: if it is to begin anew, say --adopt")
            }
        }
        return Base(origin: known, trustVersion: trustVersion)
    }

    /// The id of an origin of which only the marker is left; `nil` for one that was never signed.
    private func lost(
        _ marker: () throws(StoreError) -> String?, _ place: String
    ) throws(StoreError) -> String? {
        guard let marked = try marker() else { return nil }
        guard adopts else {
            throw StoreError(
                .untrusted,
                "\(place) says that it is the origin \(marked), and none of its pointers is signed any more; if that is "
                    + "right, say --origin-id \(marked), else --origin-id with the one that devices remember"
            )
        }
        return marked
    }

    /// - Throws: `.untrusted` for a pointer that is older than what a key has signed.
    func checkSequence(of before: ChannelPointer, _ place: String) throws(StoreError) {
        guard let origin = before.origin else { return }
        for signer in signers {
            guard let last = try signer.memory?.sequence(of: before.channel, in: origin),
                before.sequence < last
            else { continue }
            throw StoreError(
                .untrusted,
                "channel \(before.channel) of \(place) offers sequence \(before.sequence), and key \(signer.key.id) has "
                    + "signed \(last): somebody has put an old pointer back; look at what it offers, then build upon it "
                    + "with --adopt")
        }
    }

    private func checkVouched(
        _ before: ChannelPointer, _ place: String
    ) throws(StoreError) {
        let required = try required
        let judgement = required.judge(before)
        guard let objection = judgement.objection else { return }
        let whose =
            trusted.isEmpty ? "the keys that sign now" : "the keys of --trust"
        throw StoreError(
            .untrusted,
            before.isSigned
                ? "channel \(before.channel) of \(place) is not signed by \(whose), so it is not built upon: \(objection); "
                    + "name by --trust who signed it, or look at what it offers and use --adopt"
                : "channel \(before.channel) of \(place) is not signed, and whoever signs it signs all that it offers; look "
                    + "at that (castree channels), then use --adopt")
    }

    /// Each of these must have signed what is built upon.
    ///
    /// Fewer would not do: where devices ask for two signatures, whoever has one key could have the other one sign.
    private var required: TrustedKeys {
        get throws(StoreError) {
            let keys = trusted.isEmpty ? signers.map(\.key) : trusted
            return try TrustedKeys(keys, threshold: keys.count)
        }
    }

    private static func adoption(
        of before: ChannelPointer?, _ channel: ChannelName, _ origin: String
    ) -> String {
        let releases = (before?.releases ?? []).map { release in
            release.version.map { "version \($0.name) (manifest \($0.manifest))" }
                ?? "the version shipped with the app"
        }
        return "signing channel \(channel) of origin \(origin) with all that it offers already: "
            + (releases.isEmpty ? "nothing" : releases.joined(separator: ", "))
    }
}
