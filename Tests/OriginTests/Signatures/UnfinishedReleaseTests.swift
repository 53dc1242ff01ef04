import OriginTestSupport

@testable import Origin

/// A publication that was killed when the key's memory had it, and the log had not; see ``SignedSequences``.
@Suite("A release that only a killed publisher has signed") struct UnfinishedReleaseTests {
    enum Fate: CaseIterable { case kept, pruned, restored, eachLost }
    enum Next: CaseIterable { case withdraw, resign, publish, publishOld, rotate, prune }

    /// An origin that offers r1 and r2, signed by Alice's key, to which r3 was being published.
    private struct World {
        let people: SignedPlace
        let signed: ChannelPointer
        /// The origin before the publication, and when it was killed.
        let before, killed: [String: [UInt8]]
        private let noted: [UInt8]
        var place: PublishingPlace { people.place }

        init(_ kind: OriginPlace, prepare: (SignedPlace) throws -> Void = { _ in }) throws {
            people = try SignedPlace(kind)
            let place = people.place
            for number in 1...4 {
                try place.store.add("r\(number)", PackingFixture.files(number, scale: 10))
            }
            let alice = try people.signing(people.alice)
            let publisher = place.publisher(packs: .before) {
                ($0.signing, $0.packs.level) = (alice, 1)
            }
            for version in ["r1", "r2"] { try publisher.publish(version, of: place.versions) }
            try prepare(people)
            before = try place.files()
            noted = try Damage.contents(people.memoryFile(people.alice))
            try publisher.publish("r3", of: place.versions)
            signed = try people.pointer()
            let sent = try place.files().filter { OriginKey(path: $0.key) != nil }
            killed = before.merging(sent) { $1 }
        }

        func kill() throws {
            try place.restore(killed)
            try people.forget(people.bob)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            let (memory, origin) = (try people.memory(people.alice), try require(signed.origin))
            let path = try require(try memory.place(of: .stable, in: origin))
            let last = try require(try memory.sequence(of: .stable, in: origin))
            try memory.prepare(signed, upon: last, at: path)
        }

        private func sign(_ next: Next, _ notices: Notices) throws {
            let publisher = people.publisher(try people.signing(people.alice), notices: notices)
            switch next {
            case .withdraw: _ = try publisher.withdraw(VersionName("r2"))
            case .resign: try publisher.resign()
            case .publish: try publisher.publish("r4", of: place.versions)
            case .publishOld: try publisher.publish("r1", of: place.versions)
            case .rotate:
                let both = try people.signing(people.alice, people.bob)
                try people.publisher(both, notices: notices).rotate(
                    people.rotation(people.alice, to: people.bob))
            case .prune: try publisher.collect()
            }
        }

        /// Holds what is offered after the next signed command against what is there.
        func check(_ next: Next, isFinished: Bool, _ what: String) throws {
            let (what, notices) = ("\(what), \(next)", Notices())
            let refused = refusal { try sign(next, notices) }
            expect(refused == nil, "\(what): \(refused?.message ?? "")")
            let offered = try place.offered()
            expect(offered.contains("r3"), equals: isFinished, "\(what)")
            let isSaid = notices.all.contains { $0.contains("publish it again") }
            expect(isSaid, equals: !isFinished, "\(what): \(notices.all)")
            let isOnce = notices.all.filter { $0.contains("was signed and is not in") }.count == 1
            expect(isOnce, "\(what): \(notices.all)")
            if next == .withdraw { expect(!offered.contains("r2"), "\(what)") }
            // Devices may have seen it.
            if next != .prune { try expect(people.pointer().sequence > signed.sequence, "\(what)") }
            let findings = try OriginAudit(place.storage(), .hasty()).run().findings
            expect(findings, equals: [], "\(what)")
        }
    }

    @Test(
        "is offered by whoever signs next if its files are all there, and else left out, which is said",
        arguments: places, Fate.allCases)
    func files(_ kind: OriginPlace, _ fate: Fate) throws {
        let world = try World(kind)
        // Objects, packs, a manifest and a delivery.
        let own = world.killed.keys.filter { world.before[$0] == nil }.sorted()
        expect(own.count > 5)
        for next in Next.allCases {
            for file in fate == .eachLost ? own : [""] {
                try world.kill()
                switch fate {
                case .kept: break
                case .pruned: try world.people.publisher(PointerSigning()).collect()
                case .restored: try world.place.restore(world.before)
                case .eachLost: try world.place.set(file, nil)
                }
                try world.check(next, isFinished: fate == .kept, "\(fate) \(file)")
            }
        }
    }

    @Test("is left out of a log that somebody has put back behind the epoch of its files")
    func laterEpoch() throws {
        var number: Int64 = 0
        let world = try World(.bucket) { people in
            number = try people.state().number
            // A file that nothing needs begins an epoch.
            try people.place.set(people.place.objectKey("none"), Array("none".utf8))
            try people.publisher(PointerSigning()).collect()
        }
        expect(world.signed.releases.first?.version?.epoch ?? 0 > 0)
        for next in Next.allCases {
            try world.kill()
            try world.people.cutLog(after: number)
            try world.check(next, isFinished: false, "an earlier epoch")
        }
    }
}
