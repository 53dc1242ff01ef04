import CASStore
import HotPush
import Storage

/// The versions of an origin's trust that devices which are behind need, up to the newest that a pointer names.
///
/// Nobody remembers which keys counted first. So each file is checked alone and against its neighbours, and the
/// last one against the pointers that name it.
struct TrustChain {
    let versions: ClosedRange<Int64>
    let newest: Int64
    private let origin: String
    private let pointers: [ChannelPointer]
    private var files: [Int64: TrustFile] = [:]
    private var damage: [Int64: String] = [:]

    /// Reads the chain; `nil` if no pointer names a version, so that nothing was rotated.
    /// - Throws: `.unsupportedFormat`; what reading throws.
    init?(
        of pointers: some Sequence<ChannelPointer>, in storage: any ObjectStorage
    ) throws(StoreError) {
        let first = TrustFile.firstVersion + 1
        guard let origin = try storage.trustedOrigin(saidBy: pointers) else { return nil }
        let named = pointers.filter { $0.isSigned && $0.origin == origin }
        guard let newest = named.compactMap(\.trustVersion).max(), newest >= first else {
            return nil
        }
        self.origin = origin
        self.newest = newest
        self.pointers = named.filter { $0.trustVersion == newest }
        versions = first...min(newest, TrustFile.followedMax)
        for version in versions {
            do throws(StoreError) {
                files[version] = try storage.trust(version)
            } catch {
                guard [.untrusted, .tooLarge].contains(error.code) else { throw error }
                damage[version] = String(error.message.prefix { $0 != ";" })
            }
        }
    }

    /// Who needs a missing file; the pointer that names it need not be signed.
    var need: String {
        let channel = pointers.map(\.channel).min()?.description ?? ""
        return
            "devices that are behind cannot follow the keys (castree publish by a key that has signed by it puts it back; "
            + "channel \(channel) names version \(newest): if a stranger wrote that, castree resign --channel \(channel) --adopt "
            + "--unsigned, with a key, ends it)"
    }

    /// What is wrong, by version; `nil` for a missing one.
    ///
    /// If two do not belong together, nobody can tell which is wrong, and both are named.
    func problems() -> [Int64: String?] {
        var problems: [Int64: String?] = [:]
        for version in versions {
            if let file = files[version] {
                if let objection = objection(to: file) { problems[version] = objection }
            } else {
                problems[version] = .some(damage[version])
            }
        }
        let sound = versions.compactMap { problems[$0] == nil ? files[$0] : nil }
        for (file, next) in zip(sound, sound.dropFirst()) where next.version == file.version + 1 {
            guard !Self.have(file.trusted, signed: next.signedBytes, next.signatures) else {
                continue
            }
            for one in [file, next] {
                problems[one.version] =
                    "the keys of version \(file.version) have not signed version \(next.version): one of the two is damaged"
            }
        }
        return problems
    }

    /// The newest version; `nil` if it is missing or invalid.
    var last: TrustFile? { files[newest] }

    /// The channels that a signer of the next version has signed, but not by the newest yet; sorted.
    func channelsBehind(in pointers: some Sequence<ChannelPointer>) -> [ChannelName] {
        pointers.filter { pointer in
            let version = pointer.trustVersion ?? TrustFile.firstVersion
            guard pointer.origin == origin, version < newest, let next = files[version + 1]
            else { return false }
            return !Set(next.signatures.map(\.key)).isDisjoint(with: pointer.signatures.map(\.key))
        }.map(\.channel).sorted()
    }

    func with(_ others: [Int64: TrustFile]) -> TrustChain {
        var chain = self
        chain.files.merge(others) { $1 }
        return chain
    }

    private func objection(to file: TrustFile) -> String? {
        if file.origin != origin { return "it belongs to another origin (\(file.origin))" }
        if !Self.have(file.trusted, signed: file.signedBytes, file.signatures) {
            return "its own keys have not signed it"
        }
        // With --unsigned, fewer keys than required may sign.
        guard file.version == newest,
            !pointers.contains(where: { !file.trusted.signers(of: $0).isEmpty })
        else { return nil }
        return "none of its keys has signed a pointer that names it"
    }

    private static func have(
        _ keys: TrustedKeys, signed bytes: [UInt8], _ signatures: [PointerSignature]
    ) -> Bool {
        keys.signers(of: bytes, signatures).count >= keys.threshold
    }
}

extension TrustFile {
    /// Whether it is the next version after those that pointers name.
    /// - Parameters:
    ///   - last: the newest of these. With `nil`, a key of the pointers must have signed it: the first keys are
    ///     unrecorded.
    ///   - origin: whose trust it is: ``ObjectStorage/trustedOrigin(saidBy:)``.
    func follows(
        _ last: TrustFile?, _ pointers: some Sequence<ChannelPointer>, of origin: String
    ) -> Bool {
        let signed = pointers.filter { $0.isSigned && $0.origin == origin }
        if let last { return isFollowing(last.trusted, last.version, of: origin) }
        let signers = Set(signed.flatMap(\.signatures).map(\.key))
        return isFollowing(trusted, Self.firstVersion, of: origin)
            && signatures.contains { signers.contains($0.key) }
    }

    /// Whether a key that it lists has signed a pointer.
    /// - Parameter inCopy: whether it is in a copy that the operator trusts; elsewhere anybody may list a key, so
    ///   that key must have signed the file, too.
    func isVouched(by pointers: [ChannelPointer], inCopy: Bool) -> Bool {
        let makers = trusted.signers(of: signedBytes, signatures)
        return pointers.contains { pointer in
            trusted.signers(of: pointer).contains { inCopy || makers.contains($0) }
        }
    }
}

extension ObjectStorage {
    /// The origin to which the trust files belong, among those that signed pointers name, some perhaps by strangers.
    ///
    /// It is the one that the marker names, else that of the first change of the keys, else always the same one.
    func trustedOrigin(
        saidBy pointers: some Sequence<ChannelPointer>
    ) throws(StoreError) -> String? {
        let ids = Set(pointers.filter(\.isSigned).compactMap(\.origin))
        guard ids.count > 1 else { return ids.first }
        if let marked = try markedIDIfReadable(), ids.contains(marked) { return marked }
        let first = try TrustFile.ifSound(try trust(TrustFile.firstVersion + 1))
        return first.flatMap { ids.contains($0.origin) ? $0.origin : nil } ?? ids.min()
    }

    /// The id in the marker; an unreadable marker is ignored.
    func markedIDIfReadable() throws(StoreError) -> String? {
        try allowing({ $0.code == .tooLarge || $0.isOfPlace }, try markedID())
    }

    /// The id in the marker; `nil` for an unsigned origin, and without a marker.
    func markedID() throws(StoreError) -> String? {
        try contents(OriginLayout.marker, limit: OriginMarker.byteCountMax).flatMap(OriginMarker.id)
    }

    /// A version of an origin's trust; `nil` if it is missing.
    /// - Throws: `.untrusted`, `.tooLarge` for an invalid file.
    func trust(_ version: Int64) throws(StoreError) -> TrustFile? {
        try contents(OriginLayout.trust(version), limit: TrustFile.byteCountMax).map {
            (bytes) throws(StoreError) in
            do throws(StoreError) {
                return try TrustFile(parsing: bytes, version: version)
            } catch {
                // Its format proves nothing before its signatures do; a newer castree's format shows in the log.
                guard error.code == .unsupportedFormat else { throw error }
                throw .untrusted(error.message)
            }
        }
    }
}
