import OriginTestSupport

@testable import HotPush
@testable import Origin

/// A store, an origin, and people with keys.
struct SignedPlace {
    let place: PublishingPlace
    /// The keys, in files of a directory of their own.
    let alice, bob, mallory: String

    /// - Parameter versions: what the origin offers, signed by Alice's key.
    init(
        _ kind: OriginPlace = .directory, signed versions: String...,
        in channels: [String] = ["stable"]
    ) throws {
        place = try PublishingPlace(kind)
        let keys = place.store.directory.appending("keys")
        try Damage.makeDirectory(keys)
        func make(_ name: String) throws -> String {
            let path = "\(keys)/\(name)"
            try SigningKey.generate().write(to: path)
            return path
        }
        (alice, bob, mallory) = (try make("alice"), try make("bob"), try make("mallory"))
        for channel in channels {
            for version in versions { try publish(version, signing(alice), to: channel) }
        }
    }

    init(copying other: SignedPlace, _ name: String) {
        place = other.place.withOrigin(name)
        (alice, bob, mallory) = (other.alice, other.bob, other.mallory)
    }

    func key(_ file: String) throws -> VerificationKey {
        try SigningKey(file: file).verificationKey
    }

    /// What a key has signed last, by a file of it.
    func memory(_ file: String, timeout: Duration = .seconds(60)) throws -> SignedSequences {
        SignedSequences(of: try key(file).id, beside: file, timeout: timeout)
    }

    func memoryFile(_ file: String) throws -> String {
        let directory = file.split(separator: "/").dropLast().joined(separator: "/")
        return "/\(directory)/\(try key(file).id).signed"
    }

    /// - Parameter disk: that of the keys, beside which is what they have signed.
    func signing(
        _ files: String..., on disk: any FileSystem = POSIXFileSystem(),
        change: (inout PointerSigning) throws -> Void = { _ in }
    ) throws -> PointerSigning {
        var signing = PointerSigning()
        for file in files { signing.signers.append(try KeyFileSigner(file: file, disk)) }
        try change(&signing)
        return signing
    }

    func publisher(
        _ signing: PointerSigning, on fileSystem: any FileSystem = POSIXFileSystem(),
        isDurable: Bool = false, schedule: @escaping RequestSchedule = { _ in .answered },
        notices: Notices = Notices()
    ) -> Publisher {
        place.publisher(
            on: fileSystem,
            { ($0.signing, $0.isDurable, $0.notice) = (signing, isDurable, { notices.add($0) }) },
            schedule: schedule)
    }

    func publisher(_ signing: PointerSigning, ending steps: EndingSteps) -> Publisher {
        place.publisher(ending: steps) { ($0.signing, $0.isDurable) = (signing, true) }
    }

    @discardableResult
    func publish(
        _ version: String, _ signing: PointerSigning, to channel: String = "stable"
    ) throws -> PublishPlan {
        try require(
            publisher(signing).publish(
                version, of: place.versions, as: ReleaseOffer(channel: try ChannelName(channel))
            ).plan)
    }

    func rotation(_ old: String, to new: String) throws -> TrustRotation {
        TrustRotation(adding: [try key(new)], removing: [try key(old).id])
    }

    @discardableResult
    func rotate(_ old: String, to new: String) throws -> TrustRotation.Step {
        try publisher(signing(old, new)).rotate(rotation(old, to: new))
    }

    func state() throws -> Origin.OriginState {
        try require(try OriginLog(place.storage()).state(from: 0))
    }

    func pointer(_ channel: String = "stable") throws -> ChannelPointer {
        try require(place.pointer(channel))
    }

    func bytes(_ channel: String = "stable") throws -> [UInt8] {
        try require(place.bytes("channels/\(channel).json"))
    }

    /// What somebody with write access puts in the place of a pointer, or a backup that is put back: the entry of the log
    /// that the pointer names has it, and is the last one.
    func put(_ pointer: ChannelPointer, _ channel: String = "stable") throws {
        try cutLog(after: try require(pointer.log) - 1)
        try append(pointer, as: ChannelName(channel))
        try place.set(OriginLayout.pointer(ChannelName(channel)), pointer.serialized())
    }

    /// Writes the next entry of the log, as a stranger may: with a pointer of a channel, by default its own.
    func append(_ pointer: ChannelPointer, as channel: ChannelName? = nil) throws {
        let (state, name) = (try state(), channel ?? pointer.channel)
        var entry = try LogEntry(after: state, .publish, now: pointer.createdAt)
        (entry.channels[name], entry.pointers[name]) = (state.number + 1, pointer)
        try place.set(OriginLayout.logEntry(state.number + 1), entry.serialized())
    }

    func cutLog(after last: Int64) throws {
        for key in try place.published().keys
        where OriginLayout.number(ofLogEntry: key) ?? 0 > last { try place.set(key, nil) }
    }

    func forget(_ files: String...) throws {
        // There may be nothing yet.
        for file in files { try Damage.remove(memoryFile(file)) }
    }

    func expectSigned(by files: String..., channel: String = "stable") throws {
        let pointer = try pointer(channel)
        let keys = try files.map { try key($0) }
        let trusted = try TrustedKeys(keys, threshold: keys.count)
        expect(trusted.judge(pointer), equals: .init(signers: keys.map(\.id).sorted()))
        expect(pointer.signatures.count, equals: keys.count)
    }
}
