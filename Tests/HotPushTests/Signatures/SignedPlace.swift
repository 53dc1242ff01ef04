import BucketTestSupport

@testable import HotPush

/// A store, an origin, and people with keys.
struct SignedPlace {
    let place: PublishingPlace
    /// The keys, in files of a directory of their own.
    let alice, bob, mallory: String

    init(_ kind: OriginPlace = .directory) throws {
        place = try PublishingPlace(kind)
        let keys = place.store.directory.appending("keys")
        try Damage.makeDirectory(keys)
        func make(_ name: String) throws -> String {
            let path = "\(keys)/\(name)"
            try SigningKey.generate().write(to: path)
            return path
        }
        (alice, bob, mallory) = (try make("alice"), try make("bob"), try make("mallory"))
    }

    /// The same people and store, and another origin.
    init(copying other: SignedPlace, _ name: String) {
        place = other.place.withOrigin(name)
        (alice, bob, mallory) = (other.alice, other.bob, other.mallory)
    }

    func key(_ file: String) throws -> VerificationKey {
        try SigningKey(file: file).verificationKey
    }

    /// What a key has signed last, by a file of it.
    func memory(_ file: String, patience: Duration = .seconds(60)) throws -> SignedSequences {
        SignedSequences(of: try key(file).id, beside: file, patience: patience)
    }

    func memoryFile(_ file: String) throws -> String {
        let directory = file.split(separator: "/").dropLast().joined(separator: "/")
        return "/\(directory)/\(try key(file).id).signed"
    }

    func sealing(
        _ files: String..., change: (inout PointerSealing) throws -> Void = { _ in }
    ) throws -> PointerSealing {
        var sealing = PointerSealing()
        for file in files { sealing.signers.append(try KeyFileSigner(file: file)) }
        try change(&sealing)
        return sealing
    }

    func publisher(
        _ sealing: PointerSealing, on fileSystem: any FileSystem = POSIXFileSystem(),
        isDurable: Bool = false, schedule: @escaping RequestSchedule = { _ in .answered },
        notices: Notices = Notices()
    ) -> Publisher {
        place.publisher(
            on: fileSystem,
            { ($0.sealing, $0.isDurable, $0.notice) = (sealing, isDurable, { notices.add($0) }) },
            schedule: schedule)
    }

    /// A publisher that ends after some steps.
    func publisher(_ sealing: PointerSealing, ending steps: EndingSteps) -> Publisher {
        place.publisher(ending: steps) { ($0.sealing, $0.isDurable) = (sealing, true) }
    }

    @discardableResult
    func publish(
        _ version: String, _ sealing: PointerSealing, to channel: String = "stable"
    ) throws -> PublishPlan {
        try require(
            publisher(sealing).publish(
                version, of: place.versions, as: ReleaseOffer(channel: try ChannelName(channel))
            ).plan)
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
        let (name, number) = (try ChannelName(channel), try require(pointer.log))
        try cutLog(after: number - 1)
        let before = try require(try OriginLog(place.storage()).state(from: 0))
        var entry = try LogEntry(after: before, .publish, now: pointer.createdAt)
        (entry.channels[name], entry.pointers[name]) = (number, pointer)
        try place.set(OriginLayout.logEntry(number), entry.serialized())
        try place.set(OriginLayout.pointer(name), pointer.serialized())
    }

    /// Takes the later entries of the log away.
    func cutLog(after last: Int64) throws {
        for key in try place.published().keys
        where OriginLayout.number(ofLogEntry: key) ?? 0 > last { try place.set(key, nil) }
    }

    /// Forgets what keys have signed.
    func forget(_ files: String...) throws {
        // There may be nothing yet.
        for file in files { try Damage.remove(memoryFile(file)) }
    }

    /// Whether an origin's pointer is signed by exactly these keys.
    func expectSigned(by files: String..., channel: String = "stable") throws {
        let pointer = try pointer(channel)
        let keys = try files.map { try key($0) }
        let trusted = try TrustedKeys(keys, threshold: keys.count)
        expect(trusted.judge(pointer), equals: .init(signers: keys.map(\.id).sorted()))
        expect(pointer.signatures.count, equals: keys.count)
    }
}
