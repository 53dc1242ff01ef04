import OriginTestSupport

@testable import Origin

/// Two origins with one key: who can write to one, and has no key, copies there what the key has signed for the other.
@Suite("A pointer that was copied from another origin of the same key") struct CopiedPointerTests {
    /// Where the copy stands: as a channel of its own, over one of the keys', or as a file alone that names a later entry.
    enum Way: CaseIterable, Sendable { case beside, over, fileOnly }

    private struct Scene {
        let people: SignedPlace
        let id: String
        let notices = Notices()

        init(_ kind: OriginPlace, _ way: Way, remembers: Bool) throws {
            people = try SignedPlace(kind)
            let alice = try people.signing(people.alice)
            for (version, channel) in [("1", "stable"), ("1", "beta"), ("2", "stable")] {
                people.place.clock.advance(1)
                try people.publish(version, alice, to: channel)
            }
            id = try require(people.pointer().origin)
            let state = try people.state()
            // Its signature names the entry that it stood in: the stranger waits for the right number.
            let other = SignedPlace(copying: people, "other")
            let wanted = state.number + (way == .fileOnly ? 3 : 1)
            try other.publish("1", alice)
            while try other.state().number < wanted - 1 {
                let newest = try other.pointer().releases.first?.version?.name.description
                try other.publish(newest == "1" ? "2" : "1", alice)
            }
            let channel = way == .over ? "stable" : "copied"
            other.place.clock.advance(1_000)
            try other.publish("1", alice, to: channel)
            if try other.state().number < wanted { try other.publish("2", alice, to: channel) }
            let copy = try other.pointer(channel)
            expect(copy.log, equals: wanted)
            if way != .fileOnly { try people.append(copy) }
            try people.place.set(OriginLayout.pointer(copy.channel), copy.serialized())
            // Its manifest and its objects are the same: both publish from one store.
            if !remembers { try people.forget(people.alice) }
        }

        func publisher() throws -> Publisher {
            people.publisher(try people.signing(people.alice), notices: notices)
        }

        func run(_ verb: String) throws {
            let publisher = try publisher()
            switch verb {
            case "publish": try publisher.publish("1", of: people.place.versions)
            case "publish anew":
                let offer = ReleaseOffer(channel: try ChannelName("gamma"))
                try publisher.publish("2", of: people.place.versions, as: offer)
            case "withdraw": _ = try publisher.withdraw(VersionName("1"))
            case "resign": try publisher.resign(.stable)
            case "prune": try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
            default: try people.rotate(people.alice, to: people.bob)
            }
        }
    }

    @Test(
        "keeps nobody from publishing, and nothing is signed for that origin",
        arguments: places, Way.allCases)
    func goingOn(_ kind: OriginPlace, _ way: Way) throws {
        let verbs = ["publish", "publish anew", "withdraw", "resign", "prune", "rotate"]
        for (verb, remembers) in verbs.flatMap({ [($0, true), ($0, false)] }) {
            let scene = try Scene(kind, way, remembers: remembers)
            let what = "\(verb), remembers: \(remembers)"
            let refused = refusal { try scene.run(verb) }
            expect(refused == nil, "\(what): \(refused?.message ?? "")")
            let rotated = verb == "rotate" ? scene.people.bob : scene.people.alice
            for channel in ["stable", "beta"] + (verb == "publish anew" ? ["gamma"] : []) {
                // Without a change nobody writes over what stands there.
                if way == .over, channel == "stable", ["publish anew", "prune"].contains(verb) {
                    continue
                }
                let pointer = try scene.people.pointer(channel)
                expect(pointer.origin, equals: scene.id, "\(what) \(channel)")
                try scene.people.expectSigned(by: rotated, channel: channel)
            }
            if way == .beside {
                let copied = try require(scene.people.state().pointers[ChannelName("copied")])
                expect(copied.origin != scene.id, "\(what)")
            }
        }
    }

    @Test(
        "is not taken for one that a rotation has signed, where the other origin has changed its keys before",
        arguments: places, [true, false])
    func rotatedElsewhere(_ kind: OriginPlace, _ remembers: Bool) throws {
        let people = try SignedPlace(kind, signed: "1", in: ["stable", "beta"])
        let alice = try people.signing(people.alice)
        let rotation = TrustRotation(adding: [try people.key(people.bob)])
        let id = try require(people.pointer().origin)
        let other = SignedPlace(copying: people, "other")
        try other.publish("1", alice)
        try other.publisher(alice).rotate(rotation)
        let state = try people.state()
        while try other.state().number <= state.number { try other.publisher(alice).resign() }
        try people.append(other.pointer())
        if !remembers { try people.forget(people.alice) }
        try expect(people.publisher(alice).rotate(rotation).pointers.count, equals: 2)
        for channel in ["stable", "beta"] {
            let pointer = try people.pointer(channel)
            expect(pointer.origin == id && pointer.trustVersion == 2, "\(channel)")
        }
        try people.publish("2", alice)
    }

    @Test("is told to who signs every channel anew, with what to do", arguments: places)
    func told(_ kind: OriginPlace) throws {
        let scene = try Scene(kind, .beside, remembers: true)
        let people = scene.people
        let advice = "--adopt --origin-id \(scene.id), with --channel copied"
        expectRefusal(.untrusted, saying: advice) { try scene.publisher().resign() }
        let adopting = try people.signing(people.alice) {
            ($0.adopts, $0.origin) = (true, scene.id)
        }
        try people.publisher(adopting).resign(ChannelName("copied"))
        try people.publisher(people.signing(people.alice)).resign()
        try expect(people.pointer("copied").origin, equals: scene.id)
    }

    @Test(
        "or that names the newest trust, whoever signed it, is no reason to find damage or to copy nothing",
        arguments: places)
    func audited(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1")
        try people.rotate(people.alice, to: people.bob)
        let mallory = try people.signing(people.mallory)
        // Whichever comes first in a set.
        for letter in ["a", "b", "c", "d", "e", "f", "z"] {
            let state = try people.state()
            var pointer = try require(state.pointers[.stable])
            (pointer.channel, pointer.log) = (try ChannelName(letter), state.number + 1)
            pointer.origin = String(repeating: letter == "z" ? "0" : letter, count: 32)
            pointer = try mallory.sign(pointer, now: 1)
            try people.append(pointer)
            try people.place.set(OriginLayout.pointer(pointer.channel), pointer.serialized())
        }
        let storage = try people.place.storage()
        try ChannelListCopy(of: people.state(), in: storage).bringUp()
        let marker = try people.place.bytes(OriginLayout.marker)
        for existing in [marker, nil] {
            try people.place.set(OriginLayout.marker, existing)
            let paths = try OriginAudit(storage).run().findings.compactMap(\.path)
            expect(paths, equals: existing == nil ? [OriginLayout.marker] : [])
        }
        try people.place.set(OriginLayout.marker, marker)
        let target = people.place.withOrigin("target")
        try people.place.copy(to: target)
        try expect(target.bytes("trust/2.json"), equals: people.place.bytes("trust/2.json"))
    }
}
