import CASStore
import VersionTree

// Whether a channel's pointer counts: docs/signing.md, "On the device".

/// A channel's pointer, and what this store makes of it.
struct JudgedPointer: Sendable, Hashable {
    var pointer: ChannelPointer
    var standing: PointerStanding
}

extension Pull {
    /// Reads a pointer that has come, and holds it against what the store trusts.
    ///
    /// Follows the rotations of the origin's keys, and remembers them.
    /// - Throws: `.untrusted` if the store takes only signed releases from there, and this is none; `.badTrust`; for other
    ///   stores what reading throws.
    func judged(
        _ bytes: [UInt8], of channel: ChannelName, at location: OriginLocation
    ) throws(StoreError) -> JudgedPointer {
        let pointer: ChannelPointer
        do throws(StoreError) {
            pointer = try ChannelPointer(parsing: bytes, of: channel)
        } catch {
            guard [.badPointer, .tooLarge].contains(error.code), try isTrusting(location) else {
                throw error
            }
            throw StoreError(.untrusted, error.message)
        }
        return JudgedPointer(
            pointer: pointer, standing: try standing(of: pointer, at: location))
    }

    /// Whether only signed releases are taken from a place.
    func isTrusting(_ location: OriginLocation) throws(StoreError) -> Bool {
        try trustedOrigin(in: versions.trust(), at: location) != nil
    }

    /// The origin as the store trusts it; `nil` if it takes what comes.
    /// - Parameter id: what a pointer from there says of itself: a mirror of a trusted origin is held to the same keys.
    private func trustedOrigin(
        in trust: StoreTrust, at location: OriginLocation, _ id: String? = nil
    ) throws(StoreError) -> TrustedOrigin? {
        if let given = options.trust { return given.origin(in: trust, at: location.trustPlaces) }
        if trust.origins.isEmpty { return nil }
        return trust.origin(at: location.trustPlaces) ?? trust.origin(id)
    }

    /// Holds a pointer against what the store trusts.
    /// - Throws: as ``judged(_:of:at:)``.
    func standing(
        of pointer: ChannelPointer, at location: OriginLocation
    ) throws(StoreError) -> PointerStanding {
        guard
            var origin = try trustedOrigin(in: versions.trust(), at: location, pointer.origin)
        else { return .unjudged }
        var signers: [String] = []
        var objection = try origin.objection(to: pointer, signers: &signers)
        let wanted = pointer.trustVersion ?? TrustFile.firstVersion
        // Who named the keys need not know their version: if they have signed, they are of this one.
        let known = origin.version ?? (objection == nil ? wanted : TrustFile.firstVersion)
        if wanted > known, pointer.isSigned, let id = pointer.origin, id == origin.id ?? id {
            origin = try rotated(origin, to: wanted, of: id, at: location)
            signers = []
            objection = try origin.objection(to: pointer, signers: &signers)
        }
        guard let objection else {
            return PointerStanding(of: pointer, origin, signers: signers)
        }
        throw untrusted(pointer.channel, at: location, objection)
    }

    private func untrusted(
        _ channel: ChannelName, at location: OriginLocation, _ problem: String
    ) -> StoreError {
        StoreError(
            .untrusted,
            "the pointer of channel \"\(channel)\" at \(location.description) is not obeyed: \(problem); nothing was "
                + "changed (castree trust list shows whose releases are taken)")
    }

    /// The error for what would be done because of a pointer that has expired.
    func expired(
        _ channel: ChannelName, at location: OriginLocation, _ time: Int64
    ) -> StoreError {
        untrusted(
            channel, at: location,
            "it expired on \(HTTPDate(seconds: time).text), so nobody vouches that it is the newest; its publisher renews it "
                + "(castree resign)")
    }

    /// - Throws: `.untrusted` if the pointer that offers a release has expired meanwhile.
    func refuseExpired(_ offer: FoundRelease) throws(StoreError) {
        guard let time = offer.standing.expired(options.now()), let scope = offer.release.scope
        else { return }
        throw expired(try ChannelName(scope), at: offer.location, time)
    }

    /// Refuses to read a place in a format that knows no signatures, if only signed releases are taken from there.
    /// - Throws: `.untrusted`, `.badTrust`.
    func refuseUnsignable(
        _ format: any ReleaseFormat, at location: OriginLocation
    ) throws(StoreError) {
        guard !(format is CastreeFormat), try isTrusting(location) else { return }
        throw StoreError(
            .untrusted,
            "\(location.description) is not read as an origin of another format (\(format.name)), in which nothing is signed: "
                + "only signed releases are taken from there; castree trust remove ends that")
    }

    // MARK: Remembering

    /// Remembers durably that a pointer was verified, before anything is done because of it.
    ///
    /// - Returns: the higher sequence that another process has verified meanwhile, if one has.
    /// - Throws: `.untrusted` if its keys are no longer trusted; `.badTrust`, `.readOnly`, `.outOfSpace`.
    func noteVerified(
        _ judged: JudgedPointer, at location: OriginLocation
    ) throws(StoreError) -> Int64? {
        let pointer = judged.pointer
        let now = try versions.trust()
        if let known = try trustedOrigin(in: now, at: location, pointer.origin) {
            var then = known
            then.accept(pointer)
            if now.origins.contains(then) { return nil }
        }
        var isFirst = false
        let newer = try versions.changeTrust { (trust) throws(StoreError) -> Int64? in
            guard var origin = try trustedOrigin(in: trust, at: location, pointer.origin) else {
                return nil
            }
            var signers: [String] = []
            if let objection = try origin.objection(to: pointer, signers: &signers) {
                throw untrusted(pointer.channel, at: location, objection)
            }
            let newer = PointerStanding(of: pointer, origin, signers: signers).newer
            isFirst = origin.id == nil
            if newer == nil { origin.accept(pointer) }
            trust.put(origin)
            return newer
        }
        guard newer == nil else { return newer }
        Journal(versions).record(
            .verified(
                origin: location.description, channel: pointer.channel.description,
                sequence: pointer.sequence, keys: judged.standing.signers))
        if isFirst, let id = pointer.origin {
            options.notice?(
                "from now on \(location.description) is the origin \(id), which the first verified pointer said; "
                    + "castree trust add --origin-id says it beforehand")
        }
        return nil
    }

    // MARK: Rotation

    /// So many files are looked at to find out which version the keys are that somebody has named.
    private static var unknownVersionCountMax: Int64 { 256 }

    /// The origin with the keys of a later version of its trust: each is verified by the one before, and remembered.
    /// - Throws: `.untrusted` for a version that does not follow from what is trusted, or is not there.
    private func rotated(
        _ origin: TrustedOrigin, to wanted: Int64, of id: String, at location: OriginLocation
    ) throws(StoreError) -> TrustedOrigin {
        var origin = origin
        var version = origin.version ?? TrustFile.firstVersion
        let isKnown = origin.version != nil
        let last = isKnown ? wanted : min(wanted, Self.unknownVersionCountMax)
        while version < last {
            version += 1
            let file = try trustFile(version, at: location)
            let next: TrustedOrigin
            do throws(StoreError) {
                next = try origin.following(file, of: id)
            } catch {
                // Keys that somebody has named may be of a later version.
                guard error.code == .untrusted, origin.version == nil else { throw error }
                continue
            }
            origin = options.isDryRun ? next : try remember(next, after: origin, at: location, id)
        }
        return origin
    }

    private func trustFile(
        _ version: Int64, at location: OriginLocation
    ) throws(StoreError) -> TrustFile {
        let path = OriginLayout.trust(version)
        let answer = try access.document(
            path, at: location, byteCountMax: Int64(TrustFile.byteCountMax))
        guard answer.head.status == 200 else {
            guard !ReleaseProblem.isTrouble(answer.head.status) else {
                throw StoreError(
                    .network,
                    "\(location.appending(path)) answered \(answer.head.status); try again later")
            }
            throw StoreError(
                .untrusted,
                "the origin's keys have changed, and \(location.appending(path)), which would prove it, answered "
                    + "\(answer.head.status); nothing was changed")
        }
        return try TrustFile(parsing: answer.bytes, version: version)
    }

    private func remember(
        _ next: TrustedOrigin, after origin: TrustedOrigin, at location: OriginLocation,
        _ id: String
    ) throws(StoreError) -> TrustedOrigin {
        let kept = try versions.changeTrust { (trust) throws(StoreError) -> TrustedOrigin in
            var next = next
            if let now = try trustedOrigin(in: trust, at: location, id) {
                // Another process was faster.
                if let there = now.version, let version = next.version, there >= version {
                    return now
                }
                guard now.keys == origin.keys, now.version == origin.version else {
                    throw StoreError(
                        .untrusted,
                        "the keys that are trusted for \(location.description) have changed meanwhile; pull again"
                    )
                }
                (next.sequences, next.latest) = (now.sequences, now.latest)
            }
            trust.put(next)
            return next
        }
        Journal(versions).record(
            .rotated(
                origin: location.description, version: kept.version ?? 0, keys: kept.keys.map(\.id))
        )
        return kept
    }
}

extension HTTPDate {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    fileprivate var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
