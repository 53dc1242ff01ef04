import CASStore
import Expectations
import Foundation
import StorageTestSupport
import Testing
import VersionTree

@testable import HotPush

@Suite("What a publisher that signs remembers") struct SealingMemoryTests {
    let place: SignedPlace

    init() throws { place = try SignedPlace() }

    @Test("remembers beside the key what it has signed, and does not forget the higher")
    func memory() throws {
        let memory = SignedSequences(besideKey: place.alice)
        try expect(memory.sequence(of: .stable, in: "x") == nil)
        var pointer = ChannelPointer.empty(.stable, now: 100)
        pointer.origin = String(repeating: "a", count: 32)
        let origin = try require(pointer.origin)
        for sequence: Int64 in [5, 9, 7] {
            pointer.sequence = sequence
            try memory.note(pointer, at: "here")
        }
        try expect(memory.sequence(of: .stable, in: origin), equals: 9)
        try expect(memory.sequence(of: ChannelName("beta"), in: origin) == nil)
        try expect(memory.origin(at: "here") == origin && memory.origin(at: "there") == nil)
        for damaged in ["", "{}", "{\"castreeSigned\":1,\"sequences\":{\"a\":\"b\"}}"] {
            try Data(damaged.utf8).write(to: URL(filePath: place.alice + ".signed"))
            expect(refusal { try memory.sequence(of: .stable, in: origin) }?.code, equals: .badKey)
            expect(
                refusal { try place.publish("1", place.sealing(place.alice)) }?.code,
                equals: .badKey)
        }
    }

    @Test("has one memory for a key, by whatever link it is called")
    func memoryOfLinks() throws {
        let files = FileManager.default
        let other = place.place.store.directory.appending("links")
        try files.createDirectory(atPath: other, withIntermediateDirectories: true)
        try files.createSymbolicLink(
            atPath: "\(other)/one", withDestinationPath: "../keys/alice")
        try files.createSymbolicLink(atPath: "\(other)/two", withDestinationPath: "\(other)/one")
        var pointer = ChannelPointer.empty(.stable, now: 100)
        let origin = String(repeating: "a", count: 32)
        pointer.origin = origin
        for (number, path) in ["\(other)/two", place.alice, "\(other)/one"].enumerated() {
            pointer.sequence = Int64(number + 5)
            try SignedSequences(besideKey: path).note(pointer, at: "here")
            for path in ["\(other)/two", place.alice, "\(other)/one"] {
                let memory = SignedSequences(besideKey: path)
                try expect(memory.sequence(of: .stable, in: origin), equals: pointer.sequence)
            }
        }
        expect(Damage.names(other).sorted(), equals: ["one", "two"])
    }

    @Test("remembers what it has signed before anybody sees it, whatever fails afterwards")
    func memoryFirst() throws {
        let sealing = try place.sealing(place.alice)
        for version in ["1", "2"] { try place.publish(version, sealing) }
        let old = try place.bytes()
        let origin = try require(try place.pointer().origin)
        // The list of channels cannot be written: a stranger has changed it, and is in the way.
        let list = place.place.origin + "/channels.json"
        try Data("{}".utf8).write(to: URL(filePath: list))
        let obstacle = place.place.origin + "/.channels.json.new"
        try FileManager.default.createDirectory(
            atPath: obstacle + "/x", withIntermediateDirectories: true)
        expect(refusal { try place.publisher(sealing).withdraw(VersionName("2")) } != nil)
        try FileManager.default.removeItem(atPath: obstacle)
        try Data(old).write(to: URL(filePath: place.path()))
        expect(refusal { try place.publish("1", sealing) }?.code, equals: .untrusted)
        try place.publisher(place.sealing(place.alice) { $0.adopts = true }).resign()

        // At each call of the origin's disk, and then of the key's.
        let copy = place.place.store.directory.appending("copy")
        try FileManager.default.copyItem(atPath: place.place.origin, toPath: copy)
        let before = try (place.pointer(), place.bytes())
        let noted = try Damage.contents(place.alice + ".signed")
        let memory = SignedSequences(besideKey: place.alice)
        for isKeys in [false, true] {
            let count = try TestShare(oneIn: 2).count { point in
                try FileManager.default.removeItem(atPath: place.place.origin)
                try FileManager.default.copyItem(atPath: copy, toPath: place.place.origin)
                try Data(noted).write(to: URL(filePath: place.alice + ".signed"))
                let disk = FaultyFileSystem()
                var failing = PointerSealing()
                failing.signers = [
                    try KeyFileSigner(file: place.alice, isKeys ? disk : POSIXFileSystem())
                ]
                disk.arm(.fail(EIO, at: point + 1))
                let publisher = place.publisher(
                    failing, on: isKeys ? POSIXFileSystem() : disk)
                let failure = refusal { try publisher.withdraw(VersionName("2")) }
                let there = try place.pointer()
                let used = try memory.used(of: .stable, in: origin)
                expect(there.sequence <= used, "\(isKeys) \(point)")
                if isKeys, failure != nil {
                    try expect(place.bytes(), equals: before.1, "\(point)")
                }
                if !isKeys, there != before.0 {
                    let new = try place.bytes()
                    try Data(before.1).write(to: URL(filePath: place.path()))
                    expect(refusal { try place.publisher(sealing).resign() } != nil, "\(point)")
                    try Data(new).write(to: URL(filePath: place.path()))
                }
                // And the next one is not kept from working.
                let next = try place.publisher(sealing).resign().map(\.sequence)
                expect(next.allSatisfy { $0 > used }, "\(isKeys) \(point)")
                return disk.hasFired
            }
            expect(count > 3)
        }
    }

    @Test(
        "signs with a key that stands where nobody can write, and says that nothing is remembered")
    func readOnlyKey() throws {
        let disk = FaultyFileSystem()
        disk.arm(.refuseChanges)
        let notices = SignedNotices()
        var options = PublisherOptions()
        options.isDurable = false
        options.notice = { notices.add($0) }
        options.sealing.signers = [try KeyFileSigner(file: place.alice, disk)]
        try place.place.publisher(on: POSIXFileSystem(), options).publish(
            "1", of: place.place.versions)
        try place.expectSigned(by: place.alice)
        expect(notices.all.filter { $0.contains("could not be noted") }.count, equals: 1)
    }

    @Test("names the place that was signed last, if that is a copy of this origin")
    func copies() throws {
        let sealing = try place.sealing(place.alice)
        try place.publish("1", sealing)
        let old = try place.bytes()
        var next = try place.pointer()
        // A channel that only the copy has.
        var beta = ChannelPointer.empty(try ChannelName("beta"), now: 100)
        beta.origin = next.origin
        try SignedSequences(besideKey: place.alice).note(beta, at: "/srv/staging")
        let absent = refusal { try place.publish("1", sealing, to: "beta") }
        expect(
            absent?.message.contains("in /srv/staging, and it is not in \(place.place.origin)"),
            equals: true)
        next.sequence += 5
        try SignedSequences(besideKey: place.alice).note(next, at: "/srv/staging")
        let refused = refusal { try place.publish("2", sealing) }
        expect(refused?.code, equals: .untrusted)
        for words in ["/srv/staging", "--adopt", "copy", place.place.origin] {
            expect(refused?.message.contains(words), equals: true, "\(refused?.message ?? "")")
        }
        // Once it is adopted, an older pointer is one that somebody has put back.
        try place.publish("2", place.sealing(place.alice) { $0.adopts = true })
        try Data(old).write(to: URL(filePath: place.path()))
        let again = refusal { try place.publish("2", sealing) }
        expect(again?.message.contains("put an old pointer back"), equals: true)
        expect(again?.message.contains("staging"), equals: false)
    }

    @Test("waits for another publisher only for so long, and names the file")
    func stopped() throws {
        try place.publish("1", place.sealing(place.alice))
        let pointer = try place.pointer()
        let fileSystem = POSIXFileSystem()
        let other = try fileSystem.open(
            POSIXFileSystem.workingDirectory, place.alice, .reading, mode: 0)
        try expect(fileSystem.lock(other.raw, exclusive: true))
        let memory = SignedSequences(besideKey: place.alice, patience: .milliseconds(20))
        let refused = refusal { try memory.note(pointer, at: "here") }
        expect(refused?.code == .busy && refused?.message.contains(place.alice) == true)
        fileSystem.unlock(other.raw)
        try memory.note(pointer, at: "here")
    }

    @Test("says that a command was cut short whose pointer is not there")
    func unfinished() throws {
        try place.publish("1", place.sealing(place.alice))
        var next = try place.pointer()
        next.sequence += 3
        let memory = SignedSequences(besideKey: place.alice)
        try memory.prepare(next, upon: next.sequence - 3, at: "here")
        let notices = SignedNotices()
        var options = PublisherOptions()
        options.isDurable = false
        options.notice = { notices.add($0) }
        options.sealing = try place.sealing(place.alice)
        let publisher = place.place.publisher(on: POSIXFileSystem(), options)
        for _ in 0..<2 { try publisher.resign() }
        expect(notices.all.filter { $0.contains("cut short") }.count, equals: 1)
        try expect(place.pointer().sequence, equals: next.sequence + 2)
    }
}
