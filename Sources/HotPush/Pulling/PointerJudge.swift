import CASStore
import VersionTree

/// A channel's pointer, and this store's verdict on it.
struct JudgedPointer: Sendable, Hashable {
    var pointer: ChannelPointer
    var state: PointerState
    /// The versions of the origin's trust file that were read to judge it.
    var trustFiles: [Int64: TrustFile] = [:]
    var cameAt = ContinuousClock.now
}

/// Judges channels' pointers by the keys that the store trusts: docs/signing.md, "On the device".
struct PointerJudge: PullStep {
    let basis: PullBasis

    /// Checks a received pointer against the store's trust; remembers key rotations only with an accepted pointer.
    /// - Throws: `.untrusted` if the store accepts only signed releases from there, and this is not one; `.badTrust`;
    ///   for other stores what reading throws.
    func judged(
        _ bytes: [UInt8], of channel: ChannelName, at location: OriginLocation
    ) throws(StoreError) -> JudgedPointer {
        let pointer: ChannelPointer
        do throws(StoreError) {
            pointer = try ChannelPointer(parsing: bytes, of: channel)
        } catch {
            // An attacker may claim any format version: only a signed pointer shows that this castree is too old.
            guard [.badPointer, .tooLarge, .unsupportedFormat].contains(error.code),
                try isTrusting(location)
            else { throw error }
            throw Self.unsigned(error)
        }
        var files: [Int64: TrustFile] = [:]
        let ruling = try ruling(on: pointer, in: storeTrust(), at: location) {
            (version: Int64) throws(StoreError) -> TrustFile in
            if let file = files[version] { return file }
            let file = try trustFile(version, at: location)
            files[version] = file
            return file
        }
        return JudgedPointer(pointer: pointer, state: ruling?.state ?? .unjudged, trustFiles: files)
    }

    private func storeTrust() throws(StoreError) -> StoreTrust {
        try versions.trust(anew: options.trust != nil)
    }

    func isTrusting(_ location: OriginLocation) throws(StoreError) -> Bool {
        try trustedOrigin(in: storeTrust(), at: location) != nil
    }

    /// The origin as the store trusts it; `nil` if the store accepts unsigned releases from there.
    /// - Parameter id: the origin that a pointer from there claims: a mirror of a trusted origin needs the same keys.
    private func trustedOrigin(
        in trust: StoreTrust, at location: OriginLocation, _ id: String? = nil
    ) throws(StoreError) -> TrustedOrigin? {
        if let given = options.trust { return given.origin(in: trust, at: location.trustPlaces) }
        if trust.origins.isEmpty { return nil }
        return trust.origin(at: location.trustPlaces) ?? trust.origin(id)
    }

    /// The effect of an accepted pointer on an origin.
    private struct Ruling {
        /// Entries to merge into one origin: the one whose keys count, and another that turned out to be the same.
        let known: TrustedOrigin?, merged: TrustedOrigin?
        let verdict: PointerVerdict
        let state: PointerState
        /// Whether the pointer is the first to name its origin.
        let isFirst: Bool

        func note(
            _ pointer: ChannelPointer, grace: Int64, _ bound: SequenceBound,
            in trust: inout StoreTrust
        ) throws(StoreError) {
            var origin = verdict.origin
            try origin.accept(pointer, grace: grace) { (number) throws(StoreError) in
                try bound.allowsSigned(number)
            }
            if let merged {
                origin.merge(merged)
                trust.origins.removeAll { $0 == merged }
            }
            try trust.put(origin, insteadOf: known)
        }
    }

    /// Nil if the store accepts unsigned releases from there; throws `.untrusted` if the pointer is not accepted.
    private func ruling(
        on pointer: ChannelPointer, in trust: StoreTrust, at location: OriginLocation,
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) -> Ruling? {
        guard let origin = try trustedOrigin(in: trust, at: location, pointer.origin) else {
            return nil
        }
        var verdict = try PointerVerdict(on: pointer, of: origin, reading: read)
        if let objection = verdict.objection {
            throw untrusted(
                pointer.channel, at: location,
                objection + (try remedy(for: pointer, of: origin, at: location)))
        }
        var known = trust.origins.first { origin.id != nil && $0.id == origin.id }
        if known == nil, let there = trust.origin(at: location.trustPlaces), there.id == nil {
            known = there
        }
        var merged: TrustedOrigin?
        // The signers of this place may not be the origin that they claim to be.
        if origin.id == nil, let other = trust.origin(pointer.origin) {
            verdict = try PointerVerdict(on: pointer, of: other, reading: read)
            if let objection = verdict.objection {
                throw untrusted(
                    pointer.channel, at: location,
                    "it says that it is the origin \(other.id ?? ""), which is trusted at "
                        + "\(other.places.first ?? "no place"); for the keys there, \(objection)"
                )
            }
            (known, merged) = (other, origin)
        }
        let bound = bound
        let seen = try verdict.origin.bounded(pointer.channel) { (number) throws(StoreError) in
            try bound.allowsSigned(number)
        }
        let state = PointerState(of: pointer, seen, signers: verdict.signers)
        return Ruling(
            known: known, merged: merged, verdict: verdict, state: state,
            isFirst: origin.id == nil)
    }

    /// What helps if the first verified pointer, which set the id, was that of another origin of the same keys.
    private func remedy(
        for pointer: ChannelPointer, of origin: TrustedOrigin, at location: OriginLocation
    ) throws(StoreError) -> String {
        guard options.trust == nil, let known = origin.id, let id = pointer.origin, id != known,
            try origin.trustedKeys().judge(pointer).objection == nil
        else { return "" }
        let place = location.description
        return
            " and not to \(known); if its publisher says that it is the right one, castree trust remove \(place), "
            + "then castree trust add KEY --origin \(place) --origin-id \(id)"
    }

    /// When a pointer's validity ended; nil if it is still valid.
    func expired(_ state: PointerState) -> Int64? {
        state.expired(options.now(), grace: options.expiryGraceSeconds)
    }

    /// Checks a pointer against the store's trust without obeying it.
    /// - Returns: whether trusted keys have signed it; `false` if the store accepts unsigned releases from there.
    func checkState(
        of pointer: ChannelPointer, at location: OriginLocation
    ) throws(StoreError) -> Bool {
        let ruling = try ruling(on: pointer, in: storeTrust(), at: location) {
            (version: Int64) throws(StoreError) -> TrustFile in
            try trustFile(version, at: location)
        }
        return ruling != nil
    }

    /// Whether the store accepts only signed releases from some place.
    func trustsKeys() throws(StoreError) -> Bool {
        if options.trust != nil { return true }
        return try !storeTrust().origins.isEmpty
    }

    private func untrusted(
        _ channel: ChannelName, at location: OriginLocation, _ problem: String
    ) -> StoreError {
        StoreError(
            .untrusted,
            "the pointer of channel \"\(channel)\" is not obeyed: \(problem); nothing was changed (castree trust list "
                + "shows whose releases are taken from \(location.description))")
    }

    func expired(_ channel: ChannelName, at location: OriginLocation, _ time: Int64) -> StoreError {
        untrusted(
            channel, at: location,
            "it expired on \(HTTPDate(seconds: time).text), so nothing proves that it is the newest; its publisher renews it "
                + "(castree resign)")
    }

    func refuseExpired(_ offer: FoundRelease) throws(StoreError) {
        guard let time = expired(offer.state), let scope = offer.release.scope else { return }
        throw expired(try ChannelName(scope), at: offer.location, time)
    }

    func refuseUnsignable(
        _ format: any ReleaseFormat, at location: OriginLocation
    ) throws(StoreError) {
        guard !(format is CastreeFormat), try isTrusting(location) else { return }
        throw .untrusted(
            "\(location.description) is not read as an origin of another format (\(format.name)), in which nothing is signed: "
                + "only signed releases are taken from there; castree trust remove ends that")
    }

    // MARK: Remembering

    /// Remembers durably that a pointer was verified, before anything is done because of it.
    /// - Returns: a higher sequence that another process has verified meanwhile.
    /// - Throws: `.untrusted` if its keys are no longer trusted; `.badTrust`, `.readOnly`, `.outOfSpace`.
    func noteVerified(
        _ judged: JudgedPointer, at location: OriginLocation
    ) throws(StoreError) -> Int64? {
        let pointer = judged.pointer
        let files = judged.trustFiles
        let read = { (version: Int64) throws(StoreError) -> TrustFile in
            if let file = files[version] { return file }
            throw .untrusted(
                "the keys that are trusted for \(location.description) have changed meanwhile; pull again"
            )
        }
        let now = try storeTrust()
        if let ruling = try ruling(on: pointer, in: now, at: location, reading: read) {
            var then = now
            try ruling.note(pointer, grace: options.expiryGraceSeconds, bound, in: &then)
            if then == now {
                try versions.noteKnownTrust()
                return nil
            }
        }
        var isFirst = false
        var steps: [TrustFile] = []
        let newer = try versions.changeTrust(anew: options.trust != nil) {
            (trust) throws(StoreError) -> Int64? in
            guard let ruling = try ruling(on: pointer, in: trust, at: location, reading: read)
            else { return nil }
            if let newer = ruling.state.newer { return newer }
            (isFirst, steps) = (ruling.isFirst, ruling.verdict.steps)
            try ruling.note(pointer, grace: options.expiryGraceSeconds, bound, in: &trust)
            return nil
        }
        guard newer == nil else { return newer }
        for file in steps {
            EventLog(versions).record(
                .rotated(
                    origin: location.description, version: file.version,
                    keys: file.trusted.keys.map(\.id)))
        }
        EventLog(versions).record(
            .verified(
                origin: location.description, channel: pointer.channel.description,
                sequence: pointer.sequence, keys: judged.state.signers))
        if isFirst, let id = pointer.origin {
            options.notice?(
                "from now on \(location.description) is the origin \(id), which the first verified pointer said; "
                    + "castree trust add --origin-id says it beforehand")
        }
        return nil
    }

    // MARK: Rotation

    private func trustFile(
        _ version: Int64, at location: OriginLocation
    ) throws(StoreError) -> TrustFile {
        let path = OriginLayout.trust(version)
        let answer = try access.document(
            path, at: location, byteCountMax: Int64(TrustFile.byteCountMax))
        guard answer.head.status == 200 else {
            let status = answer.head.status
            if ReleaseProblem.isServerFailure(status) || ReleaseProblem.question(status) != nil {
                throw ReleaseProblem.noAnswer(
                    "\(location.appending(path)) answered \(status)", status)
            }
            throw .untrusted(
                "the origin's keys have changed, and \(location.appending(path)), which would prove it, "
                    + "\(location.answer(status)); nothing was changed; \(TrustFile.remedy)")
        }
        do throws(StoreError) {
            return try TrustFile(parsing: answer.bytes, version: version)
        } catch {
            throw Self.unsigned(error)
        }
    }

    private static func unsigned(_ error: StoreError) -> StoreError {
        let isNewer = error.code == .unsupportedFormat
        return .untrusted(
            error.message
                + (isNewer
                    ? ", if its publisher says so: it is refused, since nobody can tell who wrote it"
                    : ""))
    }
}

extension HTTPDate {
    fileprivate var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
