import StorageTestSupport

@testable import HotPush

@Suite("A rotation") struct TrustRotationTests {
    private func signed(_ kind: OriginPlace) throws -> SignedPlace {
        let place = try SignedPlace(kind)
        for channel in ["beta", "stable"] {
            try place.publish("1", place.sealing(place.alice), to: channel)
        }
        return place
    }

    /// From Alice's key to Bob's.
    private func rotation(_ place: SignedPlace) throws -> TrustRotation {
        let alice = try place.key(place.alice).id
        return TrustRotation(adding: [try place.key(place.bob)], removing: [alice])
    }

    private func trust(_ place: SignedPlace, _ version: Int64) throws -> TrustFile {
        let bytes = try require(place.place.bytes("trust/\(version).json"))
        return try TrustFile(parsing: bytes, version: version)
    }

    @Test(
        "writes what leads from the old keys to the new ones, and signs every channel by these",
        arguments: places)
    func rotating(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.sealing(place.alice, place.bob)
        let before = try place.pointer()
        let step = try place.publisher(both).rotate(rotation(place))
        expect(step.file.version == 2 && step.pointers.count == 2)
        let file = try trust(place, 2)
        let (old, new) = (
            try TrustedKeys([place.key(place.alice)]), try TrustedKeys([place.key(place.bob)])
        )
        let origin = try require(before.origin)
        try file.check(follows: old, 1, of: origin)
        expect(file.trusted, equals: new)
        for channel in ["beta", "stable"] {
            try place.expectSigned(by: place.bob, channel: channel)
            try expect(place.pointer(channel).trustVersion, equals: 2)
            try expect(place.pointer(channel).origin, equals: origin)
        }
        try expect(place.pointer().releases, equals: before.releases)
        // The old key signs nothing any more, and the next release needs only the new one.
        expect(
            refusal { try place.publish("2", place.sealing(place.alice)) }?.code, equals: .untrusted
        )
        try place.publish("2", place.sealing(place.bob))
        try expect(place.pointer().trustVersion, equals: 2)
        try place.publish("2", place.sealing(place.bob), to: "gamma")
        try expect(place.pointer("gamma").trustVersion, equals: 2)
        // And so on: whoever has version 1 can follow to 3.
        // A prune keeps what they need.
        try place.publisher(place.sealing(place.bob)).collect(OriginRetention(graceSeconds: 0))
        let next = TrustRotation(adding: [try place.key(place.alice)], threshold: 2)
        var trusting = both
        trusting.trusted = [try place.key(place.bob)]
        try place.publisher(trusting).rotate(next)
        try trust(place, 3).check(follows: new, 2, of: origin)
        try expect(trust(place, 3).trusted.threshold, equals: 2)
        try place.expectSigned(by: place.alice, place.bob)
        expect(
            refusal { try trust(place, 3).check(follows: old, 1, of: origin) }?.code,
            equals: .untrusted)
    }

    @Test("needs the old keys and the new ones, and must change something", arguments: places)
    func refusals(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let before = try place.place.published()
        func code(_ rotation: TrustRotation, _ sealing: PointerSealing) -> StoreError.Code? {
            refusal { try place.publisher(sealing).rotate(rotation) }?.code
        }
        let (alice, bob) = (try place.sealing(place.alice), try place.sealing(place.bob))
        let both = try place.sealing(place.alice, place.bob)
        // The new key alone; the old one alone, which is to go; a stranger; nobody.
        expect(code(try rotation(place), bob), equals: .badKey)
        expect(code(try rotation(place), alice), equals: .untrusted)
        expect(
            code(try rotation(place), try place.sealing(place.mallory, place.bob)),
            equals: .untrusted)
        expect(code(try rotation(place), PointerSealing()), equals: .badKey)
        expect(code(TrustRotation(), alice), equals: .badKey)
        expect(code(TrustRotation(adding: [try place.key(place.alice)]), both) != nil)
        let unknown = TrustRotation(removing: [try place.key(place.mallory).id])
        expect(code(unknown, alice), equals: .badKey)
        expect(code(TrustRotation(threshold: 2), alice), equals: .badKey)
        let last = TrustRotation(removing: [try place.key(place.alice).id])
        expect(code(last, alice), equals: .badKey)
        try expect(place.place.published(), equals: before)
        // Where nobody has signed anything.
        let other = SignedPlace(copying: place, "other")
        try other.place.publish("1", to: "gamma")
        let unsigned = refusal { try other.publisher(both).rotate(rotation(other)) }
        expect(unsigned?.code, equals: .untrusted)
        let message = try require(unsigned?.message)
        expect(
            message.contains("castree channels")
                && message.contains("castree withdraw VERSION --channel gamma --unsigned"))
    }

    @Test(
        "asks for as many signatures the first time as sign now, and leaves out who does not",
        arguments: places)
    func firstThreshold(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.sealing(place.alice, place.bob)
        var trusting = both
        trusting.trusted = [try place.key(place.alice)]
        try place.publisher(trusting).resign()
        let devices = try TrustedKeys(both.signers.map(\.key), threshold: 2)
        let whole = try place.place.files()
        let third = try place.key(place.mallory)
        for threshold in [nil, 1] {
            try place.place.restore(whole)
            // The origin is the older copy.
            try place.forget(place.alice, place.bob)
            let step = try place.publisher(both).rotate(
                TrustRotation(adding: [third], threshold: threshold))
            try step.file.check(follows: devices, 1, of: step.file.origin)
            expect(step.file.trusted.threshold, equals: threshold ?? 2)
            expect(step.assumesThreshold, equals: (threshold == nil))
            expect(Set(step.file.trusted.keys), equals: Set(devices.keys + [third]))
        }
    }

    @Test(
        "that was cut short is to be repeated, and its file never to be deleted",
        arguments: places)
    func adviceForUnfinished(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let before = try ["beta", "stable"].map { ($0, try place.pointer($0)) }
        let both = try place.sealing(place.alice, place.bob)
        try place.publisher(both).rotate(rotation(place))
        // Before any channel was signed by the new key.
        for (channel, pointer) in before { try place.put(pointer, channel) }
        try place.forget(place.alice, place.bob)
        let other = TrustRotation(adding: [try place.key(place.mallory)])
        let error = refusal { try place.publisher(place.sealing(place.alice)).rotate(other) }
        let message = try require(error?.message)
        expect(message.contains("repeat it") && message.contains("must stay"))
        expect(!message.contains("delete") && message.contains("If you do not know its keys"))
        try place.publisher(both).rotate(rotation(place))
        try place.expectSigned(by: place.bob)
    }

    @Test(arguments: places)
    func `replaces what stands in its file's place and is none: no device follows that`(
        _ kind: OriginPlace
    ) throws {
        let whole = try signed(kind)
        let both = try whole.sealing(whole.alice, whole.bob)
        let before = try whole.place.files()
        try whole.publisher(both).rotate(rotation(whole))
        let file = try require(whole.place.bytes("trust/2.json"))
        for garbage in [
            [], Array("{".utf8), Array("{}\n".utf8), Array(file.dropLast()), file + [32],
            [UInt8](repeating: 32, count: 300_000),
        ] {
            try whole.place.restore(before)
            try whole.forget(whole.alice, whole.bob)
            try whole.place.set("trust/2.json", garbage)
            try whole.publisher(both).rotate(rotation(whole))
            try whole.expectSigned(by: whole.bob)
        }
    }

    @Test(arguments: places)
    func `adds a key that is not there yet, such as one kept apart`(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let rotation = TrustRotation(adding: [try place.key(place.bob)])
        let step = try place.publisher(place.sealing(place.alice)).rotate(rotation)
        // It has not signed that it counts: nothing else asks for it.
        expect(step.file.trusted.keys.count == 2 && step.file.trusted.threshold == 1)
        try step.file.check(follows: TrustedKeys([place.key(place.alice)]), 1, of: step.file.origin)
        try place.expectSigned(by: place.alice)
    }

    @Test(
        "that is cut short at any call goes on when it is repeated, and names no version that is not there",
        arguments: places)
    func crashes(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.sealing(place.alice, place.bob)
        let old = try TrustedKeys([place.key(place.alice)])
        let new = try TrustedKeys([place.key(place.bob)])
        let whole = try place.place.files()
        let share = TestShare(oneIn: 3)
        let count = try share.count { point in
            try place.place.restore(whole)
            try place.forget(place.alice, place.bob)
            let steps = EndingSteps(after: point, isApplied: point % 2 == 0)
            let failure = refusal {
                try place.publisher(both, ending: steps).rotate(rotation(place))
            }
            for channel in ["beta", "stable"] {
                let pointer = try place.pointer(channel)
                if let version = pointer.trustVersion {
                    let file = try trust(place, version)
                    try file.check(follows: old, 1, of: file.origin)
                    expect(new.judge(pointer).objection == nil, "\(point)")
                } else {
                    expect(old.judge(pointer).objection == nil, "\(point)")
                }
            }
            if failure != nil {
                try place.publisher(both).rotate(rotation(place))
            }
            for channel in ["beta", "stable"] {
                try place.expectSigned(by: place.bob, channel: channel)
            }
            return steps.wereReached
        }
        expect(count > (kind == .directory ? 20 : 5))
    }

    @Test(arguments: places)
    func `does not go on from a version that a stranger has put there`(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.sealing(place.alice, place.bob)
        let origin = try require(try place.pointer().origin)
        let mallory = try place.key(place.mallory)
        func put(_ keys: [VerificationKey], _ version: Int64, by files: [String]) throws {
            var file = TrustFile(
                origin: origin, version: version, trusted: try TrustedKeys(keys), createdAt: 1)
            let signers = try files.map { try KeyFileSigner(file: $0) } as [any PointerSigner]
            file.signatures = try signers.sign(file.signedBytes)
            try place.place.set("trust/\(version).json", file.serialized())
        }
        // In the place of the next one.
        try put([mallory, place.key(place.bob)], 2, by: [place.mallory])
        expect(
            refusal { try place.publisher(both).rotate(rotation(place)) }?.code, equals: .untrusted)
        try place.place.set("trust/2.json", nil)
        try place.publisher(both).rotate(rotation(place))
        let counts = try require(place.place.bytes("trust/2.json"))
        // In the place of one that counts: with his own key beside Bob's.
        try put([mallory, place.key(place.bob)], 2, by: [place.mallory])
        let next = TrustRotation(adding: [try place.key(place.alice)])
        let bob = try place.sealing(place.bob)
        expect(refusal { try place.publisher(bob).rotate(next) }?.code, equals: .untrusted)
        try place.place.set("trust/2.json", nil)
        expect(refusal { try place.publisher(bob).rotate(next) }?.code, equals: .untrusted)
        // After one that counts, by keys that do not, or do not any more: no device follows that.
        try place.place.set("trust/2.json", counts)
        let third = try place.place.files()
        for files in [[place.mallory], [place.alice], [place.mallory, place.alice]] {
            try place.place.restore(third)
            try place.forget(place.alice, place.bob)
            try put([mallory], 3, by: files)
            let step = try place.publisher(both).rotate(next)
            try step.file.check(follows: TrustedKeys([place.key(place.bob)]), 2, of: origin)
            try expect(trust(place, 3), equals: step.file)
        }
        // What it says of itself decides nothing, whatever format it claims.
        try place.place.restore(third)
        try place.forget(place.alice, place.bob)
        try place.place.set("trust/3.json", Array("{\"castreeTrust\":9,\"version\":3}".utf8))
        let step = try place.publisher(both).rotate(next)
        try expect(trust(place, 3), equals: step.file)
    }
}

@Suite("A version of the trust") struct TrustFileTests {
    static let origin = String(repeating: "5e", count: 16)
    let keys: [SigningKey]

    init() throws {
        keys = try (0..<3).map { _ in try SigningKey.generate() }.sorted {
            $0.verificationKey.id < $1.verificationKey.id
        }
    }

    private func trusted(_ numbers: Int..., threshold: Int = 1) throws -> TrustedKeys {
        try TrustedKeys(numbers.map { keys[$0].verificationKey }, threshold: threshold)
    }

    private func file(
        _ trusted: TrustedKeys, version: Int64 = 2, by numbers: Int...
    ) throws -> TrustFile {
        var file = TrustFile(origin: Self.origin, version: version, trusted: trusted, createdAt: 7)
        for number in numbers {
            file.signatures.append(
                PointerSignature(
                    key: keys[number].verificationKey.id,
                    signature: try keys[number].sign(file.signedBytes)))
        }
        return file
    }

    @Test
    func `is read and written without a byte of difference, in its canonical form alone`() throws {
        let file = try file(try trusted(0, 1, threshold: 2), by: 0, 1)
        let text = String(decoding: file.serialized(), as: UTF8.self)
        let lines = keys[0...1].map { "\"\($0.verificationKey.base64)\"" }
        expect(
            text.hasPrefix(
                "{\"castreeTrust\":1,\"createdAt\":7,\"keys\":[\(lines.joined(separator: ","))],"
                    + "\"origin\":\"\(Self.origin)\",\"signatures\":[{\"key\":"))
        expect(text.hasSuffix("],\"threshold\":2,\"version\":2}\n"))
        try expect(TrustFile(parsing: Array(text.utf8), version: 2), equals: file)
        let signed = String(decoding: file.signedBytes, as: UTF8.self)
        expect(signed.hasPrefix("castree-trust 1\n{\"castreeTrust\":1,") && !signed.hasSuffix("\n"))
        let wrong = [
            text.replacingOccurrences(of: "\"version\":2", with: "\"version\":3"),
            text.replacingOccurrences(of: "\"threshold\":2", with: "\"threshold\":3"),
            text.replacingOccurrences(of: "\"threshold\":2", with: "\"threshold\":0"),
            text.replacingOccurrences(
                of: "\(lines[0]),\(lines[1])", with: "\(lines[1]),\(lines[0])"),
            text.replacingOccurrences(of: "\(lines[0]),", with: "\(lines[0]),\(lines[0]),"),
            text.replacingOccurrences(of: lines[0], with: "\"\""),
            text.replacingOccurrences(of: ",\"threshold\"", with: ", \"threshold\""),
            text.replacingOccurrences(of: "\"createdAt\":7", with: "\"createdAt\":7.0"),
            String(text.dropLast()), text + "\n", "", "[]",
        ]
        for text in wrong {
            let error = refusal { try TrustFile(parsing: Array(text.utf8), version: 2) }
            expect(error?.code, equals: .untrusted, "\(text)")
        }
        let newer = text.replacingOccurrences(of: "\"castreeTrust\":1", with: "\"castreeTrust\":2")
        expect(
            refusal { try TrustFile(parsing: Array(newer.utf8), version: 2) }?.code,
            equals: .unsupportedFormat)
    }

    @Test(
        "follows only if the threshold before it and its own have signed it, one after the other")
    func following() throws {
        let old = try trusted(0)
        func objection(
            _ file: TrustFile, _ previous: TrustedKeys, _ version: Int64 = 1,
            _ origin: String = Self.origin
        ) -> StoreError.Code? {
            refusal { try file.check(follows: previous, version, of: origin) }?.code
        }
        expect(objection(try file(trusted(1), by: 0, 1), old) == nil)
        expect(objection(try file(trusted(1), by: 1), old), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 0), old), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 1, 2), old), equals: .untrusted)
        expect(objection(try file(trusted(1), version: 3, by: 0, 1), old), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 0, 1), old, 2), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 0, 1), old, 3), equals: .untrusted)
        let other = String(repeating: "0", count: 32)
        expect(objection(try file(trusted(1), by: 0, 1), old, 1, other), equals: .untrusted)
        let two = try trusted(0, 1, threshold: 2)
        expect(objection(try file(trusted(2), by: 0, 2), two), equals: .untrusted)
        expect(objection(try file(trusted(2), by: 0, 1, 2), two) == nil)
        expect(objection(try file(trusted(1, 2, threshold: 2), by: 0, 1), old), equals: .untrusted)
        expect(objection(try file(trusted(1, 2, threshold: 2), by: 0, 1, 2), old) == nil)
    }

    @Test func `is signed as such: a signature of a pointer is none of it`() throws {
        var file = try file(try trusted(0))
        let bytes = Array("castree-pointer 1\n".utf8) + file.signedBytes.dropFirst(16)
        file.signatures = [
            PointerSignature(key: keys[0].verificationKey.id, signature: try keys[0].sign(bytes))
        ]
        expect(
            refusal { try file.check(follows: trusted(0), 1, of: Self.origin) }?.code,
            equals: .untrusted)
    }
}
