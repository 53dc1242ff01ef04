import OriginTestSupport

@testable import Origin

/// A log that does not say what pointers offer, because it was damaged or a stranger has written to it: docs/buckets.md.
@Suite("What devices are offered") struct HeldOffersTests {
    private struct Scene {
        let people: SignedPlace
        let signing: PointerSigning
        var place: PublishingPlace { people.place }

        init(_ kind: OriginPlace, isSigned: Bool = true) throws {
            people = try SignedPlace(kind)
            signing = isSigned ? try people.signing(people.alice) : PointerSigning()
            try people.publish("1", signing)
        }

        var end: Int64 {
            get throws { try require(try OriginLog(place.storage()).end(from: 0)) }
        }

        func prune(_ signing: PointerSigning, isDryRun: Bool = false) throws -> PruneReport {
            place.clock.advance(86_400)
            return try people.publisher(signing).collect(
                OriginRetention(releaseCount: 1, graceSeconds: 0), isDryRun: isDryRun)
        }

        /// What somebody appends who has no key, as if it followed.
        func appendUnsigned() throws {
            var pointer = try people.pointer()
            pointer.signatures = []
            (pointer.log, pointer.sequence) = (try people.state().number + 1, pointer.sequence + 9)
            pointer.releases.removeFirst()
            try people.append(pointer)
        }

        /// All that the pointer offers can be read.
        func expectOffered(_ version: String, in channel: String = "stable") throws {
            try expect(people.pointer(channel).releases.first?.version?.name.description == version)
            for release in try people.pointer(channel).liveReleases {
                _ = try place.files(of: release.version)
            }
        }

        func findings(_ mender: OriginMender? = nil) throws -> [OriginFinding] {
            try OriginAudit(place.storage(), .hasty(), repairingFrom: mender).run().findings
        }
    }

    @Test("stays, whoever prunes, where the newest entry is damaged", arguments: places)
    func damagedEntry(_ kind: OriginPlace) throws {
        for bytes in [[], Array("junk".utf8), [UInt8](repeating: 0, count: 400)] {
            let scene = try Scene(kind)
            try scene.people.publish("2", scene.signing)
            try scene.place.set(OriginLayout.logEntry(scene.end), bytes)
            var planned = try scene.prune(PointerSigning(), isDryRun: true).garbage.count
            for _ in 1...3 {
                // A bucket has what was left by looking what the store can do.
                try expect(scene.prune(PointerSigning()).garbage.count == planned)
                planned = 0
                try scene.expectOffered("2")
            }
            let advice = try scene.findings(OriginMender([])).map(\.message)
            expect(advice.contains { $0.contains("--adopt") }, "\(advice)")
            expect(advice.allSatisfy { !$0.contains("fsck --repair") }, "\(advice)")
            let adopting = try scene.people.signing(scene.people.alice) { $0.adopts = true }
            try scene.people.publish("2", adopting)
            try scene.expectOffered("2")
            try expect(scene.findings().map(\.kind) == [.damagedEntry])
        }
    }

    @Test("continues, and is pruned, after a damaged entry") func passedOver() throws {
        let scene = try Scene(.directory)
        try scene.people.publish("2", scene.signing)
        try scene.place.set(OriginLayout.logEntry(scene.end + 1), Array("junk".utf8))
        for version in ["1", "2"] {
            _ = try scene.prune(PointerSigning())
            try scene.people.publish(version, scene.signing)
            for _ in 1...3 { _ = try scene.prune(scene.signing) }
            try scene.expectOffered(version)
            try expect(scene.place.offered() == [version])
        }
    }

    @Test(
        "stays signed where a newer entry is not, until somebody says otherwise", arguments: places)
    func unsignedEntry(_ kind: OriginPlace) throws {
        for hasKey in [true, false] {
            let scene = try Scene(kind)
            try scene.people.publish("2", scene.signing)
            let signed = try scene.people.bytes()
            try scene.appendUnsigned()
            for _ in 1...3 {
                _ = try scene.prune(hasKey ? scene.signing : PointerSigning())
                _ = try scene.findings(OriginMender([scene.place.versions]))
                // A prune with the key signs it again, after that entry.
                try expect(
                    hasKey ? scene.people.pointer().isSigned : scene.people.bytes() == signed)
                try scene.expectOffered("2")
            }
            let (before, seen) = try (scene.end, scene.people.bytes())
            expectRefusal(
                hasKey ? .untrusted : .damagedOrigin, saying: "is signed", "--unsigned"
            ) {
                try scene.people.publish("1", PointerSigning())
            }
            try expect(scene.end == before && scene.people.bytes() == seen)
            let other = try scene.people.signing { $0.allowsFewer = true }
            try scene.people.publish("1", hasKey ? scene.signing : other)
            try scene.expectOffered("1")
            try expect(scene.people.pointer().isSigned == hasKey)
            try expect(scene.findings() == [])
        }
    }

    @Test(
        "stays when the log continues after a gap, which nobody fills", arguments: places,
        [true, false])
    func gap(_ kind: OriginPlace, _ isSigned: Bool) throws {
        for isPruned in [false, true] {
            let scene = try Scene(kind, isSigned: isSigned)
            try scene.people.publish("1", scene.signing, to: "beta")
            let lost = try scene.end + 1
            try scene.people.publish("2", scene.signing)
            if isPruned { _ = try scene.prune(PointerSigning()) }
            try scene.people.publish("1", scene.signing)
            let end = try scene.end
            try scene.place.set(OriginLayout.logEntry(lost), nil)
            try scene.people.publish("2", scene.signing, to: "beta")
            try expect(scene.place.bytes(OriginLayout.logEntry(lost)) == nil)
            try expect(scene.place.bytes(OriginLayout.logEntry(end + 1)) != nil)
            try scene.expectOffered("2", in: "beta")
            try scene.expectOffered("1")
            expectRefusal(.damagedOrigin, saying: "is not in") { try scene.prune(PointerSigning()) }
            try expect(scene.findings().map(\.kind) == [.missingEntry])
            // With the key: what it has signed since follows, so nothing that was lost is offered still.
            guard isSigned, !isPruned else { continue }
            _ = try scene.prune(scene.signing)
            try scene.expectOffered("2", in: "beta")
            try scene.expectOffered("1")
        }
    }

    @Test(
        "continues where somebody puts no entry, or one far away, behind the end", arguments: places
    )
    func beyondGap(_ kind: OriginPlace) throws {
        for isSigned in [true, false] {
            let scene = try Scene(kind, isSigned: isSigned)
            func requestCount() throws -> Int {
                try scene.people.publisher(scene.signing).publish("1", of: scene.place.versions)
                    .figures.requestCount
            }
            let (end, count) = try (scene.end, requestCount())
            let last = try scene.place.bytes(OriginLayout.logEntry(end))
            for (distance, bytes) in [(5, Array("junk".utf8)), (9, []), (1_000, last)] {
                try scene.place.set(OriginLayout.logEntry(end + Int64(distance)), bytes)
            }
            // What is no entry is read twice, in case it was altered on its way.
            try expect(requestCount() <= count + 4)
            _ = try OriginUsage(of: scene.place.storage())
            try scene.people.publish("2", scene.signing)
            try expect(scene.place.bytes(OriginLayout.logEntry(end + 1)) != nil)
            try scene.expectOffered("2")
        }
    }

    @Test("stays where somebody has filled a gap of the log", arguments: places)
    func filledGap(_ kind: OriginPlace) throws {
        for isSigned in [true, false] {
            let scene = try Scene(kind, isSigned: isSigned)
            try scene.people.publish("1", scene.signing, to: "beta")
            let lost = try scene.end + 1
            for version in ["2", "1", "2"] { try scene.people.publish(version, scene.signing) }
            let later = try (lost...scene.end).map {
                ($0, try scene.place.bytes(OriginLayout.logEntry($0)))
            }
            for (number, _) in later { try scene.place.set(OriginLayout.logEntry(number), nil) }
            let stable = try scene.people.bytes()
            try scene.place.set(OriginLayout.pointer(.stable), nil)
            try scene.people.publish("1", scene.signing, to: "other")
            try scene.place.set(OriginLayout.pointer(.stable), stable)
            for (number, bytes) in later.dropFirst() {
                try scene.place.set(OriginLayout.logEntry(number), bytes)
            }
            for _ in 1...3 {
                _ = refusal { try scene.prune(PointerSigning()) }
                for channel in ["beta", "other"] { try scene.expectOffered("1", in: channel) }
                try scene.expectOffered("2")
            }
        }
    }

    @Test("is of the origin that signed pointers name, not of one whose marker was put there")
    func otherMarker() throws {
        let scene = try Scene(.directory)
        let right = try scene.place.bytes(OriginLayout.marker)
        let wrong = OriginMarker.serialized(of: String(repeating: "5", count: 32))
        try scene.place.set(OriginLayout.marker, wrong)
        try expect(scene.findings().map(\.path) == [OriginLayout.marker])
        try expect(scene.findings(OriginMender([])).map(\.isRepaired) == [true])
        try expect(scene.place.bytes(OriginLayout.marker) == right)
        // What a stranger has copied from another origin proves nothing.
        var copied = try SignedPlace(.directory, signed: "2").pointer()
        copied.log = try scene.people.state().number + 1
        let id = try require(scene.people.pointer().origin)
        try scene.people.append(copied)
        let found = try require(
            try scene.findings(OriginMender([])).first { $0.path == OriginLayout.marker })
        expect(found.kind == .damagedFile && !found.isRepaired, "\(found)")
        for id in [id, copied.origin ?? ""] { expect(found.message.contains(id), "\(found)") }
        try expect(scene.place.bytes(OriginLayout.marker) == right)
    }

    @Test("is no garbage, whoever counts, where the log knows nothing of it", arguments: places)
    func foreignPointer(_ kind: OriginPlace) throws {
        let scene = try Scene(kind, isSigned: false)
        let other = SignedPlace(copying: scene.people, "other")
        try other.publish("2", PointerSigning(), to: "other")
        for (path, bytes) in try other.place.published()
        where !path.hasPrefix("log/") && path != OriginLayout.channelList {
            try scene.place.set(path, bytes)
        }
        let storage = try scene.place.storage()
        let planned = try scene.prune(PointerSigning(), isDryRun: true)
        let usage = try OriginUsage(of: storage)
        let garbage = usage.garbage.values.reduce(0) { $0 + $1.count } + usage[.scratch].count
        expect(garbage == planned.garbage.count && usage.waiting.count == planned.waiting.count)
        try expect(OriginAudit(storage).run().garbage == nil)
        try expect(scene.prune(PointerSigning()).garbage.count == planned.garbage.count)
        try scene.expectOffered("2", in: "other")
    }

    @Test("is checked and mended where an entry of the log is lost", arguments: places)
    func lostEntry(_ kind: OriginPlace) throws {
        for lost in 2...3 as ClosedRange<Int64> {
            let scene = try Scene(kind)
            for version in ["2", "1", "2"] { try scene.people.publish(version, scene.signing) }
            try scene.place.set(OriginLayout.logEntry(scene.end - lost + 1), nil)
            try expect(scene.findings().map(\.kind) == [.missingEntry], "\(lost)")
            let object = try scene.place.objectKey("<h1>two</h1>")
            try scene.place.set(object, nil)
            let found = try scene.findings(OriginMender([scene.place.versions]))
            expect(found.map(\.kind) == [.missingEntry, .missingFile], "\(found)")
            expect(found.map(\.isRepaired) == [false, true], "\(found)")
            try scene.expectOffered("2")
        }
    }
}
