import OriginTestSupport

@testable import Origin

/// An origin whose keys have changed twice, and that has lost what leads from the old ones to the new ones: docs/signing.md,
/// *Changing keys*.
@Suite("A version of the trust that is lost") struct LostTrustTests {
    /// From Alice's key to Bob's, and from his to Mallory's, who is honest here.
    private func rotated(_ kind: OriginPlace) throws -> SignedPlace {
        let people = try SignedPlace(kind, signed: "1")
        try people.rotate(people.alice, to: people.bob)
        try people.rotate(people.bob, to: people.mallory)
        return people
    }

    enum Harm: CaseIterable, Sendable {
        case gone, empty, cut, flipped, unsigned, neighbours, ofAnotherOrigin, forged

        /// What stands there then.
        func bytes(_ version: Int64, in people: SignedPlace, _ files: [String: [UInt8]]) throws
            -> [UInt8]?
        {
            let sound = try require(files[OriginLayout.trust(version)])
            var file = try TrustFile(parsing: sound, version: version)
            let key = try SigningKey.generate()
            switch self {
            case .gone: return nil
            case .empty: return []
            case .cut: return Array(sound.prefix(60))
            case .flipped:
                let keys = try require(sound.firstRange(of: Array(#""keys":[""#.utf8)))
                return sound[..<(keys.upperBound + 9)] + [sound[keys.upperBound + 9] ^ 1]
                    + sound[(keys.upperBound + 10)...]
            case .unsigned:
                // The keys of before have signed it no more.
                let own = Set(file.trusted.keys.map(\.id))
                file.signatures.removeAll { !own.contains($0.key) }
                return file.serialized()
            case .neighbours: return files[OriginLayout.trust(version == 2 ? 3 : 2)]
            case .ofAnotherOrigin: file.origin = String(repeating: "a", count: 32)
            case .forged: file.trusted = try TrustedKeys([key.verificationKey])
            }
            // Whoever makes one signs it by a key of his own.
            file.signatures = [
                PointerSignature(
                    key: key.verificationKey.id, signature: try key.sign(file.signedBytes))
            ]
            return file.serialized()
        }
    }

    private func audit(
        _ people: SignedPlace, from files: [String: [UInt8]]? = nil
    ) throws -> [OriginFinding] {
        let mender = files.map { files in OriginMender([], reading: { path, _ in files[path] }) }
        return try OriginAudit(people.place.storage(), .hasty(), repairingFrom: mender).run()
            .findings
    }

    @Test(
        "is found, and comes back from another origin if it proves itself",
        arguments: places, Harm.allCases)
    func mended(_ kind: OriginPlace, _ harm: Harm) throws {
        let people = try rotated(kind)
        let whole = try people.place.published()
        try expect(audit(people), equals: [])
        for versions in [[2], [3], [2, 3]] as [[Int64]] {
            // Nobody knows the first keys.
            if harm == .unsigned, versions != [3] { continue }
            var bad = whole
            for version in versions {
                bad[OriginLayout.trust(version)] = try harm.bytes(version, in: people, whole)
            }
            let paths = Set(versions.map(OriginLayout.trust))
            for path in paths { try people.place.set(path, bad[path]) }
            // Which of two is right that do not belong together is not known, nor what no right one follows.
            let known = harm == .forged ? Set(versions.suffix(1).map(OriginLayout.trust)) : paths
            let neighbours = Set([2, 3].map(OriginLayout.trust))
            // A copy that has lost it likewise is of no use.
            for source in [nil, [:], bad] {
                let findings = try audit(people, from: source)
                let found = Set(findings.compactMap(\.path))
                expect(found.isSuperset(of: known) && found.isSubset(of: neighbours), "\(findings)")
                expect(
                    findings.allSatisfy {
                        $0.kind == (harm == .gone ? .missingFile : .damagedFile) && !$0.isRepaired
                    })
                try expect(people.place.published(), equals: bad)
            }
            let mended = try audit(people, from: whole)
            expect(!mended.isEmpty && mended.allSatisfy(\.isRepaired), "\(mended)")
            try expect(people.place.published(), equals: whole)
        }
    }

    @Test("is never left out of a copy of the origin: it is refused", arguments: places)
    func copied(_ kind: OriginPlace) throws {
        let people = try rotated(kind)
        let whole = try people.place.published()
        for (number, version) in ([2, 3, nil] as [Int64?]).enumerated() {
            try people.place.restore(whole)
            if let version { try people.place.set(OriginLayout.trust(version), nil) }
            let target = people.place.at(.directory, "target-\(number)")
            let refused = refusal { try people.place.copy(to: target) }
            expect(refused?.code, equals: version == nil ? nil : .damagedOrigin)
            guard version == nil else {
                let message = refused?.message ?? ""
                expect(message.contains("fsck ORIGIN --repair --from"), "\(message)")
                continue
            }
            for path in [2, 3].map(OriginLayout.trust) {
                try expect(target.bytes(path), equals: whole[path])
            }
        }
    }

    @Test("is told to whoever signs there, with what brings it back", arguments: places)
    func told(_ kind: OriginPlace) throws {
        let people = try rotated(kind)
        let whole = try people.place.published()
        let signing = try people.signing(people.mallory)
        let remedy = "fsck ORIGIN --repair --from"
        for bytes in [nil, Array(#"{"castreeTrust":1,"keys""#.utf8)] {
            for verb in ["publish", "withdraw", "resign", "rotate"] {
                try people.place.restore(whole)
                try people.forget(people.mallory, people.bob)
                try people.place.set(OriginLayout.trust(3), bytes)
                let notices = Notices()
                let both = try people.signing(people.mallory, people.bob)
                let rotation = TrustRotation(adding: [try people.key(people.bob)])
                let refused = refusal {
                    let publisher = people.publisher(
                        verb == "rotate" ? both : signing, notices: notices)
                    switch verb {
                    case "publish": try publisher.publish("2", of: people.place.versions)
                    case "withdraw": _ = try publisher.withdraw(VersionName("1"))
                    case "resign": try publisher.resign()
                    default: try publisher.rotate(rotation)
                    }
                }
                // What is gone only keeps those from following that are behind; the next version needs it.
                let isRefused = bytes != nil || verb == "rotate"
                expect(refused?.code, equals: isRefused ? .untrusted : nil, "\(verb)")
                let said = notices.all + [refused?.message ?? ""]
                expect(said.contains { $0.contains(remedy) }, "\(verb) \(said)")
            }
        }
    }

    @Test("comes back with a publish of what is offered already", arguments: places)
    func publishedAgain(_ kind: OriginPlace) throws {
        let people = try rotated(kind)
        try people.place.set(OriginLayout.trust(3), nil)
        try people.publish("1", people.signing(people.mallory))
        try expect(audit(people), equals: [])
        guard kind == .directory else { return }
        // Where it cannot be put back, devices get their pointers nevertheless.
        let (bytes, notices, disk) = (try people.bytes(), Notices(), FaultyFileSystem())
        try people.place.set(OriginLayout.pointer(.stable), nil)
        disk.arm(.fail(EMFILE, at: 1, path: OriginLayout.trust(3)))
        try people.publisher(people.signing(people.mallory), on: disk, notices: notices)
            .publish("1", of: people.place.versions)
        try expect(people.bytes(), equals: bytes)
        expect(disk.hasFired)
        expect(notices.all.contains { $0.contains("is not put back") }, "\(notices.all)")
    }

    @Test(
        "comes back from the memory of a key that changes the keys, whatever stands in its place",
        arguments: places, Harm.allCases)
    func rotatedOn(_ kind: OriginPlace, _ harm: Harm) throws {
        let people = try rotated(kind)
        let (whole, path) = (try people.place.published(), OriginLayout.trust(3))
        let both = try people.signing(people.mallory, people.bob)
        let rotation = try people.rotation(people.mallory, to: people.bob)
        try people.place.set(path, harm.bytes(3, in: people, whole))
        let notices = Notices()
        let step = try people.publisher(both, notices: notices).rotate(rotation)
        expect(step.file.version, equals: 4)
        try expect(people.place.bytes(path), equals: whole[path])
        expect(notices.all.contains { $0.hasPrefix(path) && $0.hasSuffix("is put back") })
        try expect(audit(people), equals: [])
        // A repeated one changes nothing else.
        let (last, after) = (OriginLayout.trust(4), try people.place.published())
        try people.place.set(last, nil)
        try people.publisher(both).rotate(rotation)
        try expect(people.place.published(), equals: after)
    }

    @Test(
        "comes back from the memories of the keys, where a backup from before the changes is put back",
        arguments: places)
    func restored(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1", in: ["beta", "stable"])
        let backup = try people.place.published()
        try people.rotate(people.alice, to: people.bob)
        try people.rotate(people.bob, to: people.mallory)
        let whole = try people.place.published()
        try people.place.restore(backup)
        // Those that count no more, also together, and what is new: nothing of it would reach a device.
        let (alice, bob) = (people.alice, people.bob)
        for signing in [
            try people.signing(alice), try people.signing(bob) { $0.adopts = true },
            try people.signing(alice, bob) { $0.adopts = true },
            try people.signing(people.mallory),
            try people.signing(people.mallory) { $0.trusted = [try people.key(alice)] },
        ] {
            for channel in ["stable", "gamma"] {
                expectRefusal(.untrusted) { try people.publish("2", signing, to: channel) }
            }
        }
        try expect(people.place.published(), equals: backup)
        let notices = Notices()
        let adopting = try people.signing(people.mallory) { $0.adopts = true }
        try people.publisher(adopting, notices: notices).resign()
        for path in [2, 3].map(OriginLayout.trust) {
            try expect(people.place.bytes(path), equals: whole[path])
            expect(notices.all.contains { $0.hasPrefix(path) && $0.hasSuffix("is put back") })
        }
        try people.publish("2", people.signing(people.mallory))
        for channel in ["beta", "stable"] {
            try expect(people.pointer(channel).trustVersion, equals: 3)
        }
        try expect(audit(people), equals: [])
        // And on from there, without the keys of before.
        let rotation = TrustRotation(adding: [try people.key(alice)])
        let step = try people.publisher(people.signing(people.mallory)).rotate(rotation)
        expect(step.file.version, equals: 4)
    }

    // docs/signing.md, "A backup from before a change of keys", where nobody remembers what the keys have signed.
    @Test(
        "comes back from a copy of the origin, where a backup from before the changes is put back",
        arguments: places)
    func copiedBack(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1")
        var backups = [try people.place.published()]
        for (old, new) in [(people.alice, people.bob), (people.bob, people.mallory)] {
            try people.rotate(old, to: new)
            backups.append(try people.place.published())
        }
        let whole = try require(backups.popLast())
        try people.forget(people.alice, people.bob, people.mallory)
        let paths = [2, 3].map(OriginLayout.trust)
        for (number, backup) in backups.enumerated() {
            try people.place.restore(backup)
            let lacking = Array(paths.dropFirst(number))
            // A stranger's, one of another origin, or one that another has to precede, follow from nothing.
            for harm in [Harm.cut, .unsigned, .ofAnotherOrigin, .forged, .neighbours] {
                var bad = whole
                for path in lacking.prefix(1) {
                    let version = try require(Int64(path.split { !$0.isNumber }.joined()))
                    bad[path] = try harm.bytes(version, in: people, whole)
                }
                try expect(audit(people, from: bad), equals: [], "\(harm)")
            }
            try expect(audit(people), equals: [])
            try expect(audit(people, from: backup), equals: [])
            try expect(people.place.published(), equals: backup)
            let findings = try audit(people, from: whole)
            expect(findings.map(\.path), equals: lacking)
            expect(findings.allSatisfy { $0.kind == .missingFile && $0.isRepaired }, "\(findings)")
            for path in paths { try expect(people.place.bytes(path), equals: whole[path]) }
            // Until somebody signs by it.
            for left in [try audit(people, from: whole), try audit(people)] {
                expect(left.map(\.path) == lacking && left.allSatisfy { !$0.isRepaired }, "\(left)")
            }
            try people.publisher(people.signing(people.mallory) { $0.adopts = true }).resign()
            try expect(people.pointer().trustVersion, equals: 3)
            try expect(audit(people), equals: [])
            try people.forget(people.mallory)
        }
    }

    @Test(
        "comes back from a copy of the origin, where a later key has signed the backup before",
        arguments: places)
    func signedBefore(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1")
        let backup = try people.place.published()
        try people.rotate(people.alice, to: people.bob)
        try people.rotate(people.bob, to: people.mallory)
        let whole = try people.place.published()
        try people.forget(people.alice, people.bob, people.mallory)
        try people.place.restore(backup)
        let mallory = try people.signing(people.mallory)
        expectRefusal(.untrusted, saying: "fsck ORIGIN --repair --from COPY") {
            try people.publish("2", mallory)
        }
        let adopting = try people.signing(people.mallory) { $0.adopts = true }
        try people.publisher(adopting).resign()
        let signed = try people.place.published()
        let versions: [Int64] = [2, 3]
        for version in versions {
            for harm in [Harm.gone, .cut, .ofAnotherOrigin, .forged, .neighbours, .unsigned] {
                // Nobody knows the first keys.
                if harm == .unsigned, version == 2 { continue }
                var bad = whole
                bad[OriginLayout.trust(version)] = try harm.bytes(version, in: people, whole)
                try expect(audit(people, from: bad), equals: [], "\(version) \(harm)")
            }
        }
        for source in [nil, backup] { try expect(audit(people, from: source), equals: []) }
        try expect(people.place.published(), equals: signed)
        // A stranger's, which the real third one would follow.
        let stranger = try SigningKey.generate()
        var file = try TrustFile(parsing: require(whole[OriginLayout.trust(2)]), version: 2)
        file.trusted = try TrustedKeys([people.key(people.bob), stranger.verificationKey])
        let signature = try stranger.sign(file.signedBytes)
        file.signatures = [.init(key: stranger.verificationKey.id, signature: signature)]
        try people.place.set(OriginLayout.trust(2), file.serialized())
        try expect(audit(people), equals: [])
        let paths = versions.map(OriginLayout.trust)
        let findings = try audit(people, from: whole)
        expect(findings.map(\.path), equals: paths)
        expect(findings.allSatisfy { $0.kind == .missingFile && $0.isRepaired }, "\(findings)")
        for path in paths { try expect(people.place.bytes(path), equals: whole[path]) }
        for left in [try audit(people, from: whole), try audit(people)] {
            expect(left.map(\.path) == paths && left.allSatisfy { !$0.isRepaired }, "\(left)")
        }
        try people.publisher(adopting).resign()
        try expect(people.pointer().trustVersion, equals: 3)
        try expect(audit(people), equals: [])
    }

    @Test(
        "comes back from a copy that lists the key which signs here, but counts only there",
        arguments: places)
    func listed(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1")
        let backup = try people.place.published()
        let spare = TrustRotation(adding: [try people.key(people.bob)])
        try people.publisher(people.signing(people.alice)).rotate(spare)
        let (whole, path) = (try people.place.published(), OriginLayout.trust(2))
        try people.forget(people.alice, people.bob)
        try people.place.restore(backup)
        let adopting = try people.signing(people.bob) { $0.adopts = true }
        try people.publisher(adopting).resign()
        // Anybody who can write here can list a key of others.
        var forged = try TrustFile(parsing: require(whole[path]), version: 2)
        forged.trusted = try TrustedKeys([people.key(people.bob), people.key(people.mallory)])
        forged.signatures = try people.signing(people.mallory).signers.sign(forged.signedBytes)
        try people.place.set(path, forged.serialized())
        try expect(audit(people), equals: [])
        for isRepaired in [true, false] {
            let findings = try audit(people, from: whole)
            expect(findings.map(\.path) == [path], "\(findings)")
            expect(findings.allSatisfy { $0.isRepaired == isRepaired }, "\(findings)")
            try expect(people.place.bytes(path), equals: whole[path])
        }
        try people.publisher(adopting).resign()
        try expect(people.pointer().trustVersion, equals: 2)
        try expect(audit(people), equals: [])
    }

    /// A machine that has the same key, and has signed by it before the keys were changed elsewhere.
    @Test(
        "keeps a machine from signing whose key has not seen it: one that has puts it back by its next command",
        arguments: places)
    func unseen(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1")
        let alice = try people.signing(people.alice)
        let memory = URL(filePath: try people.memoryFile(people.alice))
        let before = try Data(contentsOf: memory)
        for key in [people.bob, people.mallory] {
            let rotation = TrustRotation(adding: [try people.key(key)])
            try people.publisher(alice).rotate(rotation)
        }
        let (whole, after) = (try people.place.published(), try Data(contentsOf: memory))
        let removing = TrustRotation(removing: [try people.key(people.bob).id])
        for lost in [2, 3] {
            let path = OriginLayout.trust(Int64(lost))
            for harm in [nil, Array("junk".utf8)] {
                try people.place.set(path, harm)
                try before.write(to: memory)
                let bad = try people.place.published()
                let verbs: [() throws -> Void] = [
                    { try people.publish("2", alice) },
                    { try people.publish("2", alice, to: "beta") },
                    { _ = try people.publisher(alice).withdraw(VersionName("1")) },
                    { _ = try people.publisher(alice).resign() },
                    {
                        let adopting = try people.signing(people.alice) { $0.adopts = true }
                        _ = try people.publisher(adopting).resign()
                    }, { _ = try people.publisher(alice).rotate(removing) },
                ]
                for (number, verb) in verbs.enumerated() {
                    expectRefusal(
                        .untrusted, "\(lost) \(number)", saying: "fsck ORIGIN --repair --from"
                    ) { try verb() }
                }
                try expect(people.place.published(), equals: bad)
                guard lost == 3 else { continue }
                try after.write(to: memory)
                try people.publisher(alice).resign()
                try expect(people.place.bytes(path), equals: whole[path])
                try before.write(to: memory)
                try people.publish("2", alice)
                try expect(people.pointer().trustVersion, equals: 3)
                try people.publish("1", alice)
                try after.write(to: memory)
                // As it was.
                for (path, bytes) in try people.place.published() where whole[path] != bytes {
                    try people.place.set(path, whole[path])
                }
                for (path, bytes) in whole { try people.place.set(path, bytes) }
            }
            try people.place.set(path, whole[path])
        }
    }

    /// What keys that counted once may put behind what counts.
    private func forge(
        _ version: Int64, in people: SignedPlace, _ files: [String: [UInt8]]
    ) throws {
        let last = try require(files[OriginLayout.trust(3)])
        var file = try TrustFile(parsing: last, version: 3)
        file.version = version
        file.trusted = try TrustedKeys([people.key(people.bob)])
        let signing = try people.signing(people.alice, people.bob)
        file.signatures = try signing.signers.sign(file.signedBytes)
        try people.place.set(OriginLayout.trust(version), file.serialized())
    }

    @Test("is copied with an origin, and none that a stranger has put behind it", arguments: places)
    func copiedWhole(_ kind: OriginPlace) throws {
        let people = try rotated(kind)
        let whole = try people.place.published()
        let target = people.place.withOrigin("target")
        for number in [4, 5, 300] { try forge(Int64(number), in: people, whole) }
        try people.place.copy(to: target)
        let trust = try target.published().filter { $0.key.hasPrefix("trust/") }
        expect(trust, equals: whole.filter { $0.key.hasPrefix("trust/") })
    }

    @Test("is forgotten where somebody says that fewer may sign", arguments: places)
    func forgotten(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1")
        let backup = try people.place.published()
        let rotation = TrustRotation(adding: [try people.key(people.bob)])
        try people.publisher(people.signing(people.alice)).rotate(rotation)
        try people.place.restore(backup)
        let signing = try people.signing(people.alice)
        expectRefusal(saying: "which puts trust/2.json back") {
            try people.publish("2", signing, to: "beta")
        }
        let lowering = try people.signing(people.alice) {
            ($0.adopts, $0.allowsFewer) = (true, true)
        }
        try people.publish("2", lowering)
        try people.publish("1", signing)
        try people.publish("2", signing, to: "beta")
        expect(
            try people.pointer().trustVersion == nil && people.pointer("beta").trustVersion == nil)
        try expect(people.place.bytes(OriginLayout.trust(2)) == nil)
    }
}
