import OriginTestSupport

@testable import Origin

@Suite("What a publisher that signs remembers") struct SigningMemoryTests {
    @Test
    func `remembers beside the key what it has signed, and does not forget the higher`() throws {
        let place = try SignedPlace()
        let memory = try place.memory(place.alice)
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
        let trust =
            #"{"castreeSigned":1,"places":{},"sequences":{},"trusts":{"a":[{"version":2}]}}"#
        for damaged in ["", "{}", "{\"castreeSigned\":1,\"sequences\":{\"a\":\"b\"}}", trust] {
            try Data(damaged.utf8).write(to: URL(filePath: place.memoryFile(place.alice)))
            expectRefusal(.badKey) { try memory.sequence(of: .stable, in: origin) }
            expectRefusal(.badKey) { try place.publish("1", place.signing(place.alice)) }
        }
    }

    @Test func `has one memory for a key, by whatever link it is called`() throws {
        let place = try SignedPlace()
        let files = FileManager.default
        let other = place.place.store.directory.appending("links")
        try Damage.makeDirectory(other)
        try files.createSymbolicLink(atPath: "\(other)/one", withDestinationPath: "../keys/alice")
        try files.createSymbolicLink(atPath: "\(other)/two", withDestinationPath: "\(other)/one")
        var pointer = ChannelPointer.empty(.stable, now: 100)
        let origin = String(repeating: "a", count: 32)
        pointer.origin = origin
        for (number, path) in ["\(other)/two", place.alice, "\(other)/one"].enumerated() {
            pointer.sequence = Int64(number + 5)
            try place.memory(path).note(pointer, at: "here")
            for path in ["\(other)/two", place.alice, "\(other)/one"] {
                let memory = try place.memory(path)
                try expect(memory.sequence(of: .stable, in: origin), equals: pointer.sequence)
            }
        }
        expect(Damage.names(other).sorted(), equals: ["one", "two"])
    }

    /// - Parameter isKeys: whether the steps are those of the key's disk, not those at the origin.
    private func publisher(
        _ place: SignedPlace, failing steps: EndingSteps, isKeys: Bool
    ) throws -> Publisher {
        let disk: any FileSystem = isKeys ? steps.disk : POSIXFileSystem()
        let signing = try place.signing(place.alice, on: disk)
        if isKeys { steps.begin() }
        return isKeys ? place.publisher(signing) : place.publisher(signing, ending: steps)
    }

    @Test(
        "remembers what it has signed before anybody sees it, whatever fails afterwards",
        arguments: places)
    func memoryFirst(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1", "2")
        let signing = try place.signing(place.alice)
        let old = try place.pointer()
        let origin = try require(old.origin)
        _ = try place.publisher(signing).withdraw(VersionName("2"))
        try place.put(old)
        expectRefusal(.untrusted) { try place.publish("1", signing) }
        try place.publisher(place.signing(place.alice) { $0.adopts = true }).resign()

        // At each call of the origin's disk, and then of the key's.
        let whole = try place.place.files()
        let before = try (place.pointer(), place.bytes())
        let noted = try Damage.contents(place.memoryFile(place.alice))
        let memory = try place.memory(place.alice)
        for isKeys in [false, true] {
            let count = try TestShare(oneIn: 2).count { point in
                try place.place.restore(whole)
                try Data(noted).write(to: URL(filePath: place.memoryFile(place.alice)))
                let steps = EndingSteps(failingAfter: point)
                let publisher = try publisher(place, failing: steps, isKeys: isKeys)
                let failure = refusal { try publisher.withdraw(VersionName("2")) }
                let there = try place.pointer()
                let used = try memory.used(of: .stable, in: origin)
                expect(there.sequence <= used, "\(isKeys) \(point)")
                if isKeys, failure != nil {
                    try expect(place.bytes(), equals: before.1, "\(point)")
                }
                if !isKeys, there != before.0 {
                    try place.put(before.0)
                    expect(refusal { try place.publisher(signing).resign() } != nil, "\(point)")
                    try place.put(there)
                }
                // And the next one is not kept from working.
                let next = try place.publisher(signing).resign().map(\.sequence)
                expect(next.allSatisfy { $0 > used }, "\(isKeys) \(point)")
                return steps.wereReached
            }
            expect(count > 2)
        }
    }

    @Test(
        "signs with a key that stands where nobody can write, and says that nothing is remembered",
        arguments: places)
    func readOnlyKey(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        let disk = FaultyFileSystem()
        disk.arm(.refuseChanges)
        let notices = Notices()
        let signing = try place.signing(place.alice, on: disk)
        try place.publisher(signing, notices: notices).publish("1", of: place.place.versions)
        try place.expectSigned(by: place.alice)
        expect(notices.all.filter { $0.contains("could not be noted") }.count, equals: 1)
    }

    @Test(
        "names the place that was signed last, if that is a copy of this origin",
        arguments: places)
    func copies(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let signing = try place.signing(place.alice)
        let old = try place.pointer()
        var next = old
        // A channel that only the copy has.
        var beta = ChannelPointer.empty(try ChannelName("beta"), now: 100)
        beta.origin = next.origin
        try place.memory(place.alice).note(beta, at: "/srv/staging")
        let words = "in /srv/staging, and it is not in \(place.place.name)"
        expectRefusal(saying: words) { try place.publish("1", signing, to: "beta") }
        next.sequence += 5
        try place.memory(place.alice).note(next, at: "/srv/staging")
        expectRefusal(
            .untrusted, saying: "/srv/staging", "--adopt", "copy", place.place.name
        ) { try place.publish("2", signing) }
        // Once it is adopted, an older pointer is one that somebody has put back.
        try place.publish("2", place.signing(place.alice) { $0.adopts = true })
        try place.put(old)
        let again = expectRefusal(saying: "put an old pointer back") {
            try place.publish("2", signing)
        }
        expect(again?.message.contains("staging"), equals: false)
    }

    @Test func `waits for another publisher only for so long, and names the file`() throws {
        let place = try SignedPlace(signed: "1")
        let pointer = try place.pointer()
        let fileSystem = POSIXFileSystem()
        let directory = URL(filePath: place.alice).deletingLastPathComponent().path
        // Whoever may read the directory or the key's other files can hold their locks, and stops nobody.
        for file in [directory, place.alice, try place.memoryFile(place.alice)] {
            let reader = try fileSystem.open(
                POSIXFileSystem.workingDirectory, file,
                file == directory ? .directory : .reading, mode: 0)
            try expect(fileSystem.lock(reader.raw, exclusive: true), "\(file)")
            try place.memory(place.alice, timeout: .milliseconds(20)).note(pointer, at: "here")
            fileSystem.unlock(reader.raw)
        }
        let path = "\(directory)/\(try place.key(place.alice).id).lock"
        let other = try fileSystem.open(POSIXFileSystem.workingDirectory, path, .reading, mode: 0)
        try expect(fileSystem.status(other.raw).mode & 0o777, equals: 0o600)
        try expect(fileSystem.lock(other.raw, exclusive: true))
        let memory = try place.memory(place.alice, timeout: .milliseconds(20))
        expectRefusal(.busy, saying: directory, "this process") {
            try memory.note(pointer, at: "here")
        }
        // A person who ends the command does not wait for the other.
        expectRefusal(.interrupted) {
            let waiting = StoreOptions(isInterrupted: { true })
            try place.memory(place.alice).note(pointer, at: "here", waiting)
        }
        fileSystem.unlock(other.raw)
        try memory.note(pointer, at: "here")
    }

    @Test func `has one memory for a key and its public one, whoever signs by it`() throws {
        let place = try SignedPlace()
        let file = place.alice + ".pub"
        try place.key(place.alice).write(to: file)
        try place.publish("1", place.signing(place.alice))
        let old = try place.pointer()
        try place.publish("2", place.signing(place.alice))
        struct Service: PointerSigner {
            let key: VerificationKey
            let memory: SignedSequences?
            let signingKey: SigningKey
            func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] { try signingKey.sign(bytes) }
        }
        let key = try VerificationKey(file: file)
        var signing = PointerSigning()
        signing.signers = [
            Service(
                key: key, memory: SignedSequences(of: key.id, beside: file),
                signingKey: try SigningKey(file: place.alice))
        ]
        try place.put(old)
        expectRefusal(.untrusted) { try place.publish("1", signing) }
    }

    @Test(
        "writes first what a killed publisher has signed, whatever a stranger puts back",
        arguments: places)
    func killed(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1", "2")
        let signing = try place.signing(place.alice)
        let whole = try place.place.files()
        let before = try place.pointer()
        let noted = try Damage.contents(place.memoryFile(place.alice))
        var finishedCount = 0
        for isKeys in [false, true] {
            // Every call of the key's disk, and every request: few lie between the two notes.
            let count = try TestShare(oneIn: isKeys || kind == .bucket ? 1 : 2).count { point in
                try place.place.restore(whole)
                try Data(noted).write(to: URL(filePath: place.memoryFile(place.alice)))
                let steps = EndingSteps(after: point, isApplied: true)
                let publisher = try publisher(place, failing: steps, isKeys: isKeys)
                _ = refusal { try publisher.withdraw(VersionName("2")) }
                let wasSeen = try place.pointer() != before
                try place.put(before)
                // What was signed and seen is built upon, or nothing is; also by whoever changes another channel.
                var refused = refusal { try place.publish("1", signing, to: "beta") }
                refused = refused ?? refusal { try place.publish("1", signing) }
                expect(refused == nil || refused?.code == .untrusted, "\(isKeys) \(point)")
                let isFinished = try !place.place.offered().contains("2")
                if wasSeen { expect(refused != nil || isFinished, "\(isKeys) \(point)") }
                if isFinished { finishedCount += 1 }
                return steps.wereReached
            }
            expect(count > 2)
        }
        expect(finishedCount > 0)
    }

    @Test(
        "writes nothing first whose files somebody has pruned, or that is of another place",
        arguments: places)
    func unfinishable(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1", "2")
        let signing = try place.signing(place.alice)
        let old = try place.pointer()
        let last = try require(old.withdrawing(VersionName("1"), now: old.createdAt + 1))
        let memory = try place.memory(place.alice)
        let origin = try require(old.origin)
        let path = try require(try memory.place(of: .stable, in: origin))
        var other = try signing.sign(last, now: 1)
        try memory.prepare(other, upon: old.sequence, at: "/srv/elsewhere")
        try place.publish("1", signing)
        try expect(place.pointer().releases.count, equals: 2)
        // Whoever has pruned has not seen what it offers.
        try place.place.store.add("3", ["only.txt": "three"])
        try place.publish("3", signing, to: "beta")
        _ = try place.publisher(signing).withdraw(VersionName("3"), from: ChannelName("beta"))
        let next = try place.pointer()
        other = next
        other.sequence += 1
        other.log = try require(other.log) + 1
        var release = next.releases[0]
        release.sequence = other.sequence
        if var version = release.version {
            version.manifest = try ObjectID(of: [1])
            release.target = .version(version)
        }
        other.releases.insert(release, at: 0)
        try memory.prepare(signing.sign(other, now: 1), upon: next.sequence, at: path)
        try place.publisher(PointerSigning()).collect(
            OriginRetention(releaseCount: 5, graceSeconds: 0))
        // Nobody is kept from anything by that; the release is left to whoever wants it.
        let notices = Notices()
        try place.publisher(signing, notices: notices).resign()
        expect(notices.all.contains { $0.contains("publish it again") })
        try expect(place.pointer().releases, equals: next.releases)
        try expect(place.pointer().sequence > other.sequence)
        try place.publish("2", signing)
    }

    @Test("says that a command was cut short whose pointer is not there", arguments: places)
    func unfinished(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        var next = try place.pointer()
        next.sequence += 3
        let memory = try place.memory(place.alice)
        try memory.prepare(next, upon: next.sequence - 3, at: "here")
        let notices = Notices()
        let publisher = try place.publisher(place.signing(place.alice), notices: notices)
        for _ in 0..<2 { try publisher.resign() }
        expect(notices.all.filter { $0.contains("cut short") }.count, equals: 1)
        try expect(place.pointer().sequence, equals: next.sequence + 2)
    }

    @Test func `says where there is no space, if it is beside the key`() throws {
        let place = try SignedPlace(signed: "1")
        let before = try place.place.published()
        let disk = FaultyFileSystem()
        let signing = try place.signing(place.alice, on: disk)
        disk.arm(.fail(ENOSPC, at: 1, of: [.write]))
        let refused = expectRefusal(.outOfSpace, saying: "beside the key") {
            try place.publish("2", signing)
        }
        expect(refused?.message.contains("castree prune"), equals: false)
        try expect(place.pointer().serialized(), equals: before["channels/stable.json"])
        try place.publish("2", signing)
    }
}
