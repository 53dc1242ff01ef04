package import CASStore
package import HotPush
import VersionTree

/// A change of the keys whose signatures count.
package struct TrustRotation: Sendable {
    package var added: [VerificationKey]
    package var removed: [String]
    /// How many must sign; `nil` for as many as before.
    package var threshold: Int?

    package init(
        adding added: [VerificationKey] = [], removing removed: [String] = [],
        threshold: Int? = nil
    ) {
        self.added = added
        self.removed = removed
        self.threshold = threshold
    }

    /// What a rotation writes, decided before anything is written.
    package struct Step: Sendable {
        package let file: TrustFile
        /// Whether it exists already, because an earlier call was interrupted.
        package let isThere: Bool
        /// The keys of the version before; `nil` if they are recorded nowhere.
        var previous: TrustedKeys?
        /// Whether the threshold was neither given nor recorded before, so that it is the number of current signers.
        package var assumesThreshold = false
        /// The channels whose pointers are signed by it, sorted.
        var channels: [ChannelName] { unsigned.map(\.channel) }
        let unsigned: [ChannelPointer]
        /// Their pointers, signed.
        package var pointers: [ChannelPointer]

        /// Whether a device might follow the existing file.
        ///
        /// A file that the keys of the version before have not signed is a stranger's, whose key may once have counted.
        func mayBeFollowed(_ there: TrustFile) -> Bool {
            previous.map { there.isFollowing($0, file.version - 1, of: file.origin) } ?? true
        }
    }

    /// - Parameters:
    ///   - pointers: those of all channels.
    ///   - signing: who signs: keys of the version before, which are not among ``added``, and keys of the new one;
    ///     and whom it trusts, as ``known(to:)``.
    ///   - place: the origin, for messages.
    ///   - log: the number of the log's entry that will have the pointers.
    ///   - wanted: the channels whose pointers are signed now.
    ///   - read: reads a version of the trust from the origin.
    /// - Throws: `.untrusted` for pointers or a version that must not be built upon; `.badKey` if nothing is asked
    ///   for, or the signers are too few.
    func step(
        upon pointers: [ChannelName: ChannelPointer], by signing: PointerSigning,
        in place: String, log: Int64, signing wanted: Set<ChannelName>,
        now: Int64, read: (Int64) throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> Step {
        let rotation = try Rotation(self, pointers, signing, place, log, wanted)
        let version = rotation.version
        try signing.checkProved(version, of: rotation.origin, in: place, read)
        if version > TrustFile.firstVersion, let file = try read(version), isMet(by: file.trusted) {
            // Only what an earlier call has left, which may be nothing.
            try rotation.checkOwn(file)
            let lagging = rotation.pointers.filter { !file.counts($0) }
            try rotation.checkTrusted(lagging)
            if lagging.isEmpty {
                let before =
                    try TrustFile.ifSound(try read(version - 1))?.trusted.keys.map(\.id) ?? []
                let never = removed.first { id in
                    !before.contains(id) && !file.signatures.contains { $0.key == id }
                }
                if let never {
                    throw .badKey(
                        "key \(printable(never)) counts neither in version \(version) of the trust of \(place) nor in the one "
                            + "before: nothing changes")
                }
            }
            return try rotation.step(file, isThere: true, lagging, now: now)
        }
        try rotation.checkTrusted(rotation.pointers)
        let previous = try rotation.previous(read)
        let next = version + 1
        let trusted = try changed(previous)
        let known = version > TrustFile.firstVersion ? previous : nil
        if let file = try TrustFile.ifSound(try read(next)),
            known.map({ file.isFollowing($0, version, of: rotation.origin) }) ?? true
        {
            guard file.trusted == trusted else { throw rotation.unfinished(file, after: previous) }
            try rotation.checkOwn(file)
            return try rotation.step(file, isThere: true, rotation.pointers, now: now)
        }
        var file = TrustFile(
            origin: rotation.origin, version: next, trusted: trusted, createdAt: now)
        try checkSigners(signing, of: previous, "that count so far")
        try checkSigners(signing, of: trusted, "that count from then on")
        file.signatures = try signing.signers.sign(file.signedBytes)
        try file.check(follows: previous, version, of: rotation.origin)
        var step = try rotation.step(file, isThere: false, rotation.pointers, now: now)
        step.previous = known
        step.assumesThreshold = threshold == nil && known == nil
        return step
    }

    /// All of these must have signed a pointer to build upon.
    /// - Throws: `.badKey` if only new keys sign.
    func known(to signing: PointerSigning) throws(StoreError) -> [VerificationKey] {
        guard signing.trusted.isEmpty else { return signing.trusted }
        let known = signing.signers.map(\.key).filter { !added.contains($0) }
        guard !known.isEmpty else {
            throw .badKey(
                "no key of the version before signs the new one: name it by --sign-key, too")
        }
        return known
    }

    /// - Throws: `.untrusted` if too few of the keys sign, with those that do not.
    private func checkSigners(
        _ signing: PointerSigning, of keys: TrustedKeys, _ which: String
    ) throws(StoreError) {
        let signingKeys = signing.signers.map(\.key)
        let absent = keys.keys.filter { !signingKeys.contains($0) }
        let missing = keys.threshold - (keys.keys.count - absent.count)
        guard missing > 0 else { return }
        let names = absent.map(\.id).joined(separator: ", ")
        throw .untrusted(
            "nothing is rotated: \(keys.threshold) of the keys \(which) must sign a rotation, and "
                + "\(keys.threshold - missing) would; name the files of \(missing) more of them by --sign-key: \(names)"
        )
    }

    private func isMet(by trusted: TrustedKeys) -> Bool {
        let ids = Set(trusted.keys.map(\.id))
        return added.allSatisfy(trusted.keys.contains) && ids.isDisjoint(with: removed)
            && trusted.threshold == threshold ?? trusted.threshold
    }

    private func changed(_ previous: TrustedKeys) throws(StoreError) -> TrustedKeys {
        for id in removed where !previous.keys.contains(where: { $0.id == id }) {
            throw .badKey("key \(id) cannot be removed: it is not trusted")
        }
        for key in added where previous.keys.contains(key) {
            throw .badKey("key \(key.id) cannot be added: it is trusted already")
        }
        let keys = previous.keys.filter { !removed.contains($0.id) } + added
        let changed = try TrustedKeys(keys, threshold: threshold ?? previous.threshold)
        guard changed != previous else {
            throw .badKey("a rotation needs --add, --remove or --threshold")
        }
        return changed
    }
}

private struct Rotation {
    let pointers: [ChannelPointer]
    let origin: String
    private let log: Int64
    private let wanted: Set<ChannelName>
    let version: Int64
    private let signing: PointerSigning
    private let place: String
    /// All of these, or all of ``signingKeys``, must have signed a pointer to build upon.
    private let old: TrustedKeys
    private let signingKeys: [VerificationKey]

    init(
        _ rotation: TrustRotation, _ pointers: [ChannelName: ChannelPointer],
        _ signing: PointerSigning, _ place: String, _ log: Int64, _ wanted: Set<ChannelName>
    ) throws(StoreError) {
        signingKeys = signing.signers.map(\.key).filter { !rotation.added.contains($0) }
        old = try TrustedKeys(signing.trusted, threshold: signing.trusted.count)
        self.signing = signing
        self.place = place
        self.log = log
        self.wanted = wanted
        self.pointers = pointers.values.sorted { $0.channel < $1.channel }
        var origins: Set<String> = []
        for pointer in self.pointers {
            guard pointer.isSigned, let origin = pointer.origin else {
                throw .untrusted(
                    "channel \(pointer.channel) of \(place) is not signed; \(Self.advice(pointer))"
                )
            }
            origins.insert(origin)
        }
        guard let origin = origins.first, origins.count == 1 else {
            throw .untrusted(
                origins.isEmpty
                    ? "\(place) has no channel yet: there is nothing to sign"
                    : "the channels of \(place) belong to different origins: somebody has copied them together; look at them "
                        + "(castree channels), and delete the files of those that are not yours"
            )
        }
        self.origin = origin
        version = self.pointers.map { $0.trustVersion ?? TrustFile.firstVersion }.max() ?? 1
    }

    /// The keys of the version before.
    ///
    /// Those of the first version are recorded nowhere: they are the keys that sign now or are named by `--trust`. The
    /// threshold of devices is unknown, too: the number of current signers is never less than what can succeed at all.
    func previous(
        _ read: (Int64) throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> TrustedKeys {
        guard version > TrustFile.firstVersion else {
            let keys = old.keys + signingKeys.filter { !old.keys.contains($0) }
            return try TrustedKeys(keys, threshold: max(signingKeys.count, 1))
        }
        guard let file = try read(version), file.origin == origin else {
            throw .untrusted(
                "\(OriginLayout.trust(version)) is not in \(place), and its pointers name it; \(TrustFile.remedy)\(TrustFile.otherwise)"
            )
        }
        // Somebody else could name a key of their own in it.
        guard old.signers(of: file.signedBytes, file.signatures).count == old.keys.count else {
            throw .untrusted(
                "\(OriginLayout.trust(version)) in \(place) is not signed by the keys that are trusted here; name by --trust "
                    + "who signed it")
        }
        return file.trusted
    }

    private static func advice(_ pointer: ChannelPointer) -> String {
        let channel = pointer.channel
        return
            "look at what it offers (castree channels), withdraw what is not yours (castree withdraw VERSION --channel "
            + "\(channel) --unsigned), then castree resign --channel \(channel) --adopt signs the rest"
    }

    func unfinished(_ file: TrustFile, after previous: TrustedKeys) -> StoreError {
        let keys = file.trusted
        let isOurs =
            file.origin == origin
            && !previous.signers(of: file.signedBytes, file.signatures).isEmpty
        let signers = file.signatures.map(\.key).joined(separator: ", ")
        let end = "a rotation was cut short: \(TrustFile.repetition)"
        // Keys of the first version that are not named now may have made it.
        let advice =
            isOurs
            ? end + TrustFile.theft
            : "no key that is known here has signed it, but \(signers). If these are another team's, whose channels stand "
                + "here, too, it lists keys for all: that team adds yours (castree trust rotate ORIGIN --add YOURS.pub), you "
                + "sign your channels by it (castree resign ORIGIN --channel NAME --adopt) and rotate from there, with "
                + "--trust THEIRS.pub. If none of them was ever anybody's here, a stranger has put it there, no device "
                + "follows it, and it may be deleted. Else \(end)"
        return .untrusted(
            "\(OriginLayout.trust(file.version)) is in \(place) already, and says that \(keys.threshold) of "
                + "\(keys.keys.map(\.id).joined(separator: ", ")) must sign: \(advice)")
    }

    /// - Throws: `.untrusted` unless all current signers have made a version of the trust.
    func checkOwn(_ file: TrustFile) throws(StoreError) {
        let own = try TrustedKeys(signing.signers.map(\.key), threshold: signing.signers.count)
        guard file.origin == origin,
            own.signers(of: file.signedBytes, file.signatures).count == own.threshold
        else {
            throw .untrusted(
                "\(OriginLayout.trust(file.version)) in \(place) is not signed by all keys that sign now: an interrupted "
                    + "rotation is repeated as it was")
        }
    }

    /// - Throws: `.untrusted` for a pointer that the keys of the version before have not signed, or an old one.
    func checkTrusted(_ pointers: [ChannelPointer]) throws(StoreError) {
        // Teams with a key each have each signed their own channels.
        let own =
            signingKeys.isEmpty ? old : try TrustedKeys(signingKeys, threshold: signingKeys.count)
        for pointer in pointers {
            if own.judge(pointer).objection != nil, let objection = old.judge(pointer).objection {
                throw .untrusted(
                    "channel \(pointer.channel) of \(place) is not signed by the keys of the version before, so it is not "
                        + "signed anew: \(objection); if a key of yours has signed it, name that key by --trust; else "
                        + Self.advice(pointer))
            }
            try signing.checkSequence(of: pointer, place)
        }
    }

    /// Signs pointers by the keys that count from a version on.
    func step(
        _ file: TrustFile, isThere: Bool, _ pointers: [ChannelPointer], now: Int64
    ) throws(StoreError) -> TrustRotation.Step {
        var signing = signing
        signing.signers = signing.signers.filter { file.trusted.keys.contains($0.key) }
        guard signing.signers.count >= file.trusted.threshold else {
            throw .badKey(
                "\(signing.signers.count) of the new keys sign, and devices will ask for \(file.trusted.threshold): name "
                    + "more of them by --sign-key")
        }
        var signed: [ChannelPointer] = []
        for pointer in pointers {
            guard wanted.contains(pointer.channel) else { continue }
            var next = pointer.renewed(now: now)
            try self.signing.raise(&next, in: origin)
            next.trustVersion = file.version
            next.log = log
            signed.append(try signing.sign(next, now: now))
        }
        return TrustRotation.Step(
            file: file, isThere: isThere, unsigned: pointers, pointers: signed)
    }
}
