import OriginTestSupport

@testable import HotPush

/// A stranger can write to the origin, and has no key: the device neither installs nor forgets nor goes back to
/// anything.
///
/// The device shows version 2 of an origin that had version 1 before. Each way is tried by a pull that would show what
/// comes at once, also by one that is forced; afterwards the device is what it was, byte by byte, but for its events.
@Suite("A stranger with write access to the origin") struct TwelveWaysTests {
    /// What the stranger does, and what the device says; `nil` where it only says that this is an older copy.
    private struct Way {
        let name: String
        var code: StoreError.Code? = .untrusted
        let change: (Scene) throws -> Void

        init(
            _ name: String, _ code: StoreError.Code? = .untrusted,
            _ change: @escaping (Scene) throws -> Void
        ) {
            (self.name, self.code, self.change) = (name, code, change)
        }
    }

    private final class Scene {
        let origin: SignedOrigin
        /// The pointers that were there, in order; the device has obeyed the last.
        let old, current: [UInt8]
        let next: ChannelPointer
        let beta: [UInt8]
        /// A release of the stranger's: all of it is there, but for a pointer.
        let evil: ChannelRelease

        init(_ kind: SignedOrigin.Kind, threshold: Int = 1) throws {
            origin = try SignedOrigin(kind, threshold: threshold)
            try origin.place.store.add("evil", ["index.html": "<h1>evil</h1>"])
            try origin.place.store.add("3", ["index.html": "<h1>three</h1>"])
            old = try origin.offer("1")
            _ = try origin.pull()
            current = try origin.offer("2")
            _ = try origin.pull()
            beta = try origin.signed(try origin.publish("3", to: "beta"))
            evil = try origin.publish("evil", to: "evil").releases[0]
            next = try origin.publish("3")
        }

        var key: SigningKey { origin.keys[0] }

        func put(_ bytes: [UInt8]) { origin.write(bytes, at: SignedOrigin.pointer) }

        /// A pointer that offers the stranger's release before all others.
        func hostile(_ change: (inout ChannelPointer) -> Void = { _ in }) -> ChannelPointer {
            var pointer = next
            pointer.origin = SignedOrigin.id
            pointer.sequence += 10
            var release = evil
            release.sequence = pointer.sequence
            pointer.releases.insert(release, at: 0)
            change(&pointer)
            return pointer
        }

        /// Puts there what is signed by hand.
        func put(_ pointer: ChannelPointer, _ signatures: [PointerSignature]) {
            var pointer = pointer
            pointer.signatures = signatures
            put(pointer.serialized())
        }

        /// Puts there what nobody has signed so.
        func put(_ bytes: [UInt8], replacing old: String, by new: String) {
            let text = String(decoding: bytes, as: UTF8.self)
            expect(text.contains(old))
            put(Array(text.replacing(old, with: new).utf8))
        }
    }

    private static var ways: [Way] {
        [
            Way("an old pointer is there again", nil) { $0.put($0.old) },
            Way("another channel's pointer") { $0.put($0.beta) },
            Way("another channel's pointer under the name of this one") {
                $0.put($0.beta, replacing: "\"beta\"", by: "\"stable\"")
            },
            Way("another origin's pointer, signed by the same key") { scene in
                scene.put(
                    try scene.origin.signed(scene.hostile()) { $0.origin = SignedOrigin.otherID })
            },
            Way("a pointer without origin") { scene in
                let pointer = scene.hostile { $0.origin = nil }
                scene.put(
                    pointer,
                    try SignedOrigin.signatures(of: pointer.signedBytes, by: [scene.key]))
            },
            Way("an unsigned pointer") { $0.put($0.hostile(), []) },
            Way("an unsigned pointer without any word of signatures") { scene in
                scene.put(scene.hostile { $0.origin = nil }, [])
            },
            Way("the signature of the pointer before") { scene in
                let before = try ChannelPointer(parsing: scene.current, of: .stable)
                scene.put(scene.hostile(), before.signatures)
            },
            Way("signed by a key of the stranger's") { scene in
                scene.put(try scene.origin.signed(scene.hostile(), by: [scene.origin.stranger]))
            },
            Way("a key with the id of the trusted one") { scene in
                let pointer = scene.hostile()
                let signature = try scene.origin.stranger.sign(pointer.signedBytes)
                scene.put(
                    pointer,
                    [PointerSignature(key: scene.key.verificationKey.id, signature: signature)])
            },
            Way("nine signatures") { scene in
                let keys = try (0..<8).map { _ throws(StoreError) in try SigningKey.generate() }
                scene.put(
                    try scene.origin.signed(scene.hostile(), by: keys + [scene.origin.stranger]))
            },
            Way("keys of the stranger's, proved by themselves") { scene in
                let stranger = scene.origin.stranger
                try scene.origin.write(2, [stranger], by: [stranger])
                scene.put(
                    try scene.origin.signed(scene.hostile(), by: [stranger]) { $0.trustVersion = 2 }
                )
            },
            Way("expired") { scene in
                let time = scene.origin.now - 1
                scene.put(try scene.origin.signed(scene.next) { $0.expiresAt = time })
            },
            Way("expired, and the stranger says that it is not") { scene in
                let time = scene.origin.now - 1
                let bytes = try scene.origin.signed(scene.next) { $0.expiresAt = time }
                scene.put(bytes, replacing: "\"expiresAt\":1", by: "\"expiresAt\":2")
            },
            Way("everything is taken back") { scene in
                let before = try ChannelPointer(parsing: scene.current, of: .stable)
                var pointer = scene.next
                pointer.origin = SignedOrigin.id
                pointer.releases = []
                scene.put(pointer, before.signatures)
            },
            Way("the current version is taken back") { scene in
                var pointer = try ChannelPointer(parsing: scene.current, of: .stable)
                pointer.releases.removeFirst()
                scene.put(pointer, pointer.signatures)
            },
            Way("back to what was shipped") { scene in
                var pointer = try ChannelPointer(parsing: scene.current, of: .stable)
                pointer.releases[0].target = .embedded
                scene.put(pointer, pointer.signatures)
            },
            Way("a key twice in JSON") { scene in
                scene.put(
                    try scene.origin.signed(scene.next), replacing: "\"releases\":",
                    by: "\"releases\":[],\"releases\":")
            },
            Way("the same numbers, spelled otherwise") { scene in
                scene.put(
                    try scene.origin.signed(scene.next), replacing: "\"castreeChannel\":1",
                    by: "\"castreeChannel\":1e0")
            },
            Way("a byte behind it") { scene in
                scene.put(try scene.origin.signed(scene.next) + [32])
            },
            Way("a field more") { scene in
                scene.put(
                    Array("{\"a\":1,".utf8) + (try scene.origin.signed(scene.next).dropFirst()))
            },
            Way("a format that no castree knows") {
                $0.put(Array(#"{"castreeChannel":9}"#.utf8))
            },
            Way("a trust of a format that no castree knows") { scene in
                scene.origin.write(
                    Array(#"{"castreeTrust":9,"version":2}"#.utf8), at: OriginLayout.trust(2))
                scene.put(
                    try scene.origin.signed(scene.hostile(), by: [scene.origin.stranger]) {
                        $0.trustVersion = 2
                    })
            },
            Way("no JSON at all") { $0.put(Array("<html>".utf8)) },
            Way("the pointer is gone", .notFound) {
                $0.origin.write(nil, at: SignedOrigin.pointer)
            },
            Way("everything is gone", .notFound) { scene in
                for path in scene.origin.files.keys { scene.origin.write(nil, at: path) }
            },
            Way("a Meteor server stands there", .notFound) { scene in
                for path in scene.origin.files.keys { scene.origin.write(nil, at: path) }
                scene.origin.write(
                    Array(#"{"format":"web-program-pre1","manifest":[],"version":"9"}"#.utf8),
                    at: "__cordova/manifest.json")
            },
        ]
    }

    private func expectNothing(
        _ origin: SignedOrigin, _ state: [String: [UInt8]], _ way: String,
        _ expected: StoreError.Code?
    ) throws {
        for isForced in [false, true] {
            do {
                let pull = try origin.client { $0.isForced = isForced }
                var reply = try pull.inquire(origin.url)
                let report = try pull.carryOut(&reply, of: origin.url)
                expect(report == nil && reply.isOlderCopy && expected == nil, "\(way)")
            } catch let error as StoreError {
                expect(error.code, equals: expected, "\(way): \(error)")
            }
        }
        let now = try origin.state()
        expect(Set(now.keys), equals: Set(state.keys), "\(way)")
        for (path, bytes) in now where bytes != state[path] {
            Issue.record("\(way): \(path) has changed")
        }
        // What is wrong can be read afterwards, with the keys that have to do with it.
        if expected == .untrusted {
            let last = try EventLog(origin.device.versions).entries().last?.sentence ?? ""
            expect(last.contains("is not obeyed") || last.contains("refused"), "\(way): \(last)")
        }
    }

    @Test(arguments: SignedOrigin.Kind.allCases)
    func `gets nothing done`(_ kind: SignedOrigin.Kind) throws {
        let scene = try Scene(kind)
        let state = try scene.origin.state()
        let files = scene.origin.files
        for way in Self.ways {
            try way.change(scene)
            try expectNothing(scene.origin, state, way.name, way.code)
            for path in Set(scene.origin.files.keys).union(files.keys) {
                if scene.origin.files[path] != files[path] {
                    scene.origin.write(files[path], at: path)
                }
            }
        }
        // It was not for want of a way in: what its publisher signs is taken.
        scene.put(try scene.origin.signed(scene.next))
        try expect(scene.origin.pull()?.version, equals: "3")
    }

    @Test(arguments: SignedOrigin.Kind.allCases)
    func `gets nothing done by a bit in any field of a pointer`(_ kind: SignedOrigin.Kind) throws {
        let scene = try Scene(kind)
        let state = try scene.origin.state()
        let bytes = try scene.origin.signed(scene.next) { $0.expiresAt = scene.origin.now + 1000 }
        // The first byte of each name and of each value, and the end.
        var places = [bytes.count - 1]
        for (place, byte) in bytes.enumerated().dropLast(2)
        where [UInt8(ascii: ":"), UInt8(ascii: "{"), UInt8(ascii: ",")].contains(byte) {
            places.append(place + (bytes[place + 1] == UInt8(ascii: "\"") ? 2 : 1))
        }
        expect(places.count > 30)
        for place in places {
            var changed = bytes
            changed[place] ^= 1
            scene.put(changed)
            do {
                _ = try scene.origin.pull()
                Issue.record("byte \(place) may be changed")
            } catch let error as StoreError {
                expect(error.code, equals: .untrusted, "\(error)")
            }
        }
        try expect(scene.origin.state(), equals: state)
    }

    @Test func `gets nothing done with one of two keys, however often it signs`() throws {
        let scene = try Scene(.server, threshold: 2)
        let state = try scene.origin.state()
        let pointer = scene.hostile()
        let ids = scene.origin.keys.map(\.verificationKey.id).sorted()
        let signature = try scene.key.sign(pointer.signedBytes)
        let mine = PointerSignature(key: scene.key.verificationKey.id, signature: signature)
        for (name, signatures) in [
            ("once", [mine]), ("twice", [mine, mine]),
            ("under both ids", ids.map { PointerSignature(key: $0, signature: signature) }),
        ] {
            scene.put(pointer, signatures)
            try expectNothing(scene.origin, state, name, .untrusted)
        }
    }

    @Test(
        "gets nothing shown by other bytes for what a pointer names",
        arguments: SignedOrigin.Kind.allCases)
    func contents(_ kind: SignedOrigin.Kind) throws {
        for prefix in ["manifests/", "objects/"] {
            let scene = try Scene(kind)
            scene.put(try scene.origin.signed(scene.next))
            let evil = scene.origin.files.filter { $0.key.hasPrefix(prefix) }
            for (path, bytes) in evil {
                let stranger = evil.first { $0.key != path }?.value ?? bytes.reversed()
                scene.origin.write(stranger, at: path)
            }
            let shown = try readTree(scene.origin.device.path + "/current/")
            let refusal = code { try scene.origin.pull() }
            expect([.mismatch, .damagedOrigin, .tooLarge].contains(refusal), "\(prefix)")
            let lifecycle = try scene.origin.device.versions.lifecycle()
            expect(lifecycle.current == "2" && lifecycle.pending == nil && lifecycle.bad.isEmpty)
            try expect(readTree(scene.origin.device.path + "/current/"), equals: shown)
            // What was verified stays verified.
            try expect(scene.origin.trusted?.sequences["stable"], equals: scene.next.sequence)
            try expect(scene.origin.device.reopened().check().findings.isEmpty)
        }
    }

    @Test(
        "gets nothing shown by another pack: what it was to bring comes as its publisher meant it")
    func packs() throws {
        for prefix in ["packs/", "deliveries/"] {
            let scene = try Scene(.server)
            let text = (0..<40_000).map { "\($0 &* 2_654_435_761 % 10)" }.joined()
            try scene.origin.place.store.add("4", ["index.html": "<h1>four</h1>", "large": text])
            let next = try scene.origin.publish("4", packs: .before)
            scene.put(try scene.origin.signed(next))
            let paths = scene.origin.files.keys.filter { $0.hasPrefix(prefix) }
            expect(!paths.isEmpty)
            for path in paths {
                scene.origin.write(Array("another one, of the stranger's".utf8), at: path)
            }
            try expect(scene.origin.pull()?.version, equals: "4")
            let shown = try readTree(scene.origin.device.path + "/current/")
            expect(shown, equals: ["index.html": "<h1>four</h1>", "large": text])
        }
    }

    @Test func `of another format is not read where signatures are asked for`() throws {
        let scene = try Scene(.server)
        let state = try scene.origin.state()
        for format in ["meteor", "8fit"] {
            for isForced in [false, true] {
                expectRefusal(.untrusted) {
                    try scene.origin.pull { ($0.format, $0.isForced) = (format, isForced) }
                }
            }
        }
        try expect(scene.origin.state(), equals: state)
    }

    /// Nobody signs that; devices of castree look at none of it.
    @Test(
        "gets nothing done by what it tells the clients of other systems",
        arguments: SignedOrigin.Kind.allCases)
    func clients(_ kind: SignedOrigin.Kind) throws {
        let scene = try Scene(kind)
        scene.put(scene.current)
        _ = try scene.origin.pull()
        let state = try scene.origin.state()
        let manifest = #"{"format":"web-program-pre1","manifest":[],"version":"9"}"#
        for system in ["capgo", "chcp", "codepush", "expo", "hot-updater", "meteor"] {
            let configuration =
                #"{"baseURL":"https://evil.example","castreeClients":1,"deployments":{"k":"evil"},"system":"\#(system)"}"#
            for (file, text) in [
                ("config.json", configuration), ("stable.json", "{}"),
                ("k/__cordova/manifest.json", manifest), ("manifest", "{}"),
            ] {
                scene.origin.write(Array(text.utf8), at: "for/\(system)/\(file)")
            }
        }
        for isForced in [false, true] {
            let pull = try scene.origin.client { $0.isForced = isForced }
            var reply = try pull.inquire(scene.origin.url)
            _ = try pull.carryOut(&reply, of: scene.origin.url)
            try expect(scene.origin.state(), equals: state)
        }
        expect(scene.origin.requests.allSatisfy { !$0.path.contains("/for/") })
        scene.put(try scene.origin.signed(scene.next))
        try expect(scene.origin.pull()?.version, equals: "3")
    }
}
