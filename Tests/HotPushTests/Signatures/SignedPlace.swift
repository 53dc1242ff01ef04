import CASStore
import Expectations
import Foundation
import Storage
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

@testable import HotPush

/// A store, an origin, and people with keys.
struct SignedPlace {
    let place: PublishingPlace
    /// The keys, in files of a directory of their own.
    let alice, bob, mallory: String

    init() throws {
        place = try PublishingPlace()
        let keys = place.store.directory.appending("keys")
        try FileManager.default.createDirectory(
            atPath: keys, withIntermediateDirectories: true)
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
    func memory(
        _ file: String, patience: Duration = .seconds(60)
    ) throws -> SignedSequences {
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
        isDurable: Bool = false
    ) -> Publisher {
        var options = PublisherOptions()
        options.isDurable = isDurable
        options.sealing = sealing
        return place.publisher(on: fileSystem, options)
    }

    /// Publishes a version, signed.
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
        try require(try DirectoryOrigin(place.origin).pointer(try ChannelName(channel)))
    }

    func path(_ channel: String = "stable") -> String {
        "\(place.origin)/channels/\(channel).json"
    }

    func bytes(_ channel: String = "stable") throws -> [UInt8] {
        try Damage.contents(path(channel))
    }

    /// What somebody with write access puts in the place of a pointer, or a backup that is put back: the entry of the log
    /// that the pointer names has it, and is the last one.
    func put(_ pointer: ChannelPointer, _ channel: String = "stable") throws {
        let (name, number) = (try ChannelName(channel), try require(pointer.log))
        try cutLog(after: number - 1)
        let log = OriginLog(try DirectoryStorage(place.origin, scratch: OriginLayout.work))
        let before = try require(try log.state(from: 0))
        var entry = try LogEntry(after: before, .publish, now: pointer.createdAt)
        (entry.channels[name], entry.pointers[name]) = (number, pointer)
        let file = "\(place.origin)/\(OriginLayout.logEntry(number))"
        try Damage.overwriteOrCreate(file, with: entry.serialized())
        try Damage.overwriteOrCreate(path(channel), with: pointer.serialized())
    }

    /// Takes the later entries of the log away.
    func cutLog(after last: Int64) throws {
        let directory = place.origin + "/" + OriginLayout.log
        for name in Damage.names(directory) {
            let number = OriginLayout.number(ofLogEntry: "\(OriginLayout.log)/\(name)")
            if number ?? 0 > last { Damage.remove("\(directory)/\(name)") }
        }
    }

    /// Whether an origin's pointer is signed by exactly these keys.
    func expectSigned(by files: String..., channel: String = "stable") throws {
        let pointer = try pointer(channel)
        let keys = try files.map { try key($0) }
        let trusted = try TrustedKeys(keys, threshold: keys.count)
        expect(trusted.judge(pointer), equals: .vouched(by: keys.map(\.id).sorted()))
        expect(pointer.signatures.count, equals: keys.count)
    }
}

/// The error that `body` throws.
func refusal<R>(_ body: () throws -> R) -> StoreError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? StoreError
    }
}

/// What a publisher says unasked.
final class SignedNotices: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }
    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
