import StorageTestSupport

@testable import CASStore

/// A store of any size is checked in parts: what was found sound lately is left out, a sample is the
/// same for the same seed, and whatever is left out is looked at from outside.
@Suite struct ScrubTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        var files: [String: String] = [:]
        for number in 0..<Self.count { files["file-\(number)"] = Self.content(number) }
        try temporary.add("1", files)
    }

    static let count = 300

    static func content(_ number: Int) -> String { "content \(number)" }

    func path(_ number: Int) throws -> String {
        temporary.objectPath(try address(of: Self.content(number)))
    }

    /// Long before any check of these tests.
    static let longAgo: Int64 = 1_000_000_000

    @Test func `what was found sound since then is not read again`() throws {
        let before = secondsNow() - 2
        try expect(temporary.reopened().check().checkedObjects, equals: Self.count)
        let again = try temporary.reopened().check(CheckOptions(since: before))
        expect(again.checkedObjects, equals: 0)
        expect(again.checkedBytes, equals: 0)
        expect(again.skippedObjects, equals: Self.count)
        expect(again.findings, equals: [])
        // Nobody can have found it sound later than now.
        let later = try temporary.reopened().check(CheckOptions(since: secondsNow() + 100))
        expect(later.checkedObjects, equals: Self.count)
    }

    @Test func `what came since is read, and nothing else`() throws {
        _ = try temporary.reopened().check()
        try temporary.add("2", ["new": "brand new", "old": Self.content(1)])
        let report = try temporary.reopened().check(CheckOptions(since: Self.longAgo))
        expect(report.checkedObjects, equals: 1)
        expect(report.checkedBytes, equals: 9)
        expect(report.skippedObjects, equals: Self.count)
    }

    @Test func `damage that was found is found again until it is repaired`() throws {
        _ = try temporary.reopened().check()
        try Damage.flip(try path(7), at: 2)
        // The memory says that it was sound: that is what --since asks for.
        try expect(
            temporary.reopened().check(CheckOptions(since: Self.longAgo)).findings, equals: [])
        for _ in 0..<2 {
            try expect(temporary.reopened().check().findings.map(\.kind), equals: [.damagedObject])
            let scrub = try temporary.reopened().check(CheckOptions(since: Self.longAgo))
            expect(scrub.findings.map(\.kind), equals: [.damagedObject])
            expect(scrub.checkedObjects, equals: 1)
        }
    }

    @Test func `a damaged executable copy keeps its object from being left out`() throws {
        let temporary = try TemporaryStore(adding: "1", ["run": "#! /bin/sh"])
        let twin = temporary.objectPath(try address(of: "#! /bin/sh")) + ".x"
        try Damage.flip(twin, at: 3)
        for options in [CheckOptions(), CheckOptions(since: Self.longAgo)] {
            let kinds = try temporary.reopened().check(options).findings.map(\.kind)
            expect(kinds, equals: [.damagedExecutableCopy])
        }
    }

    @Test func `what is left out is looked at from outside`() throws {
        let damages: [(Finding.Kind, (String) throws -> Void)] = [
            (.missingObject, { Damage.remove($0) }),
            (.damagedObject, { try Damage.truncate($0, to: 3) }),
            (.damagedObject, { try Damage.extend($0, by: [1]) }),
            (.notAFile, { try Damage.replace($0, by: .directory) }),
            (.notAFile, { try Damage.replace($0, by: .symbolicLink("/etc/hostname")) }),
            (.wrongMode, { try Damage.setMode($0, 0o644) }),
        ]
        _ = try temporary.reopened().check()
        for (number, (_, damage)) in damages.enumerated() {
            try damage(try path(number))
        }
        let report = try temporary.reopened().check(CheckOptions(since: Self.longAgo))
        for (number, (kind, _)) in damages.enumerated() {
            let address = try address(of: Self.content(number))
            expect(report.findings.first { $0.object == address }?.kind, equals: kind)
        }
        expect(report.skippedObjects, equals: Self.count - damages.count)
    }

    @Test func `fingerprints do not stand for a deep check`() throws {
        _ = try temporary.reopened().check()
        let deep = CheckOptions(isDeep: true, since: Self.longAgo)
        try expect(temporary.reopened().check(deep).checkedObjects, equals: Self.count)
        try expect(temporary.reopened().check(deep).checkedObjects, equals: 0)
        let shallow = CheckOptions(since: Self.longAgo)
        try expect(temporary.reopened().check(shallow).checkedObjects, equals: 0)
    }

    @Test func `an interrupted check continues where it stopped`() throws {
        let asked = Atomic<Int>(0)
        let read = Atomic<Int>(0)
        let versions = try VersionStore.open(
            temporary.path,
            options: StoreOptions(
                isDurable: false,
                isInterrupted: { asked.add(1, ordering: .relaxed).newValue > 200 }))
        // Slow enough in name that it asks at every object; in fact the rate is never reached.
        let options = CheckOptions(
            since: Self.longAgo, byteRateMax: 1 << 40,
            progress: { read.store($0.objects, ordering: .relaxed) })
        expect(code { _ = try versions.check(options) }, equals: .interrupted)
        let first = read.load(ordering: .relaxed)
        expect(first > 0 && first < Self.count)
        let rest = try temporary.reopened().check(CheckOptions(since: Self.longAgo))
        // Nothing is left out that was not read, and not much is read twice.
        expect(rest.checkedObjects >= Self.count - first)
        expect(rest.checkedObjects <= Self.count - first + 2)
        expect(rest.checkedObjects + rest.skippedObjects, equals: Self.count)
        try expect(
            temporary.reopened().check(CheckOptions(since: Self.longAgo)).checkedObjects, equals: 0)
    }

    @Test func `a check that waits for its rate can be interrupted`() throws {
        let asked = Atomic<Int>(0)
        let versions = try VersionStore.open(
            temporary.path,
            options: StoreOptions(
                isDurable: false,
                isInterrupted: { asked.add(1, ordering: .relaxed).newValue > 20 }))
        // At one byte a second it would take the better part of an hour.
        expect(code { _ = try versions.check(CheckOptions(byteRateMax: 1)) }, equals: .interrupted)
    }

    @Test func `a memory that is lost, torn or forged costs only reading`() throws {
        let memory = temporary.path + "/verified"
        let scrub = CheckOptions(since: Self.longAgo)
        let damages: [() throws -> Void] = [
            { Damage.remove(memory) },
            { try Damage.flip(memory, at: 100) },
            { try Damage.truncate(memory, to: 100) },
            { try Damage.replace(memory, by: .directory) },
            { try Damage.replace(memory, by: .symbolicLink("/etc/hostname")) },
        ]
        for damage in damages {
            try damage()
            try expect(temporary.reopened().check(scrub).checkedObjects, equals: Self.count)
            if Damage.names(temporary.path).contains("verified"),
                (try? Damage.contents(memory)) == nil
            {
                Damage.remove(memory)
            }
            try expect(temporary.reopened().check().findings, equals: [])
            try expect(temporary.reopened().check(scrub).checkedObjects, equals: 0)
        }
    }

    @Test func `times to come are not believed`() throws {
        _ = try temporary.reopened().check()
        var times = temporary.store.verifiedTimes()
        expect(times.entries.count, equals: Self.count)
        for position in times.entries.indices { times.entries[position].time = .max - 2 }
        try Damage.overwrite(temporary.path + "/verified", with: times.encoded)
        let report = try temporary.reopened().check(CheckOptions(since: Self.longAgo))
        expect(report.checkedObjects, equals: Self.count)
    }

    @Test func `only whole memories are read`() throws {
        var times = VerifiedTimes()
        expect(VerifiedTimes(times.encoded)?.entries, equals: [])
        for number in 0..<20 {
            times.entries.append(.init(prefix: UInt64(number) << 40, time: UInt32(number * 2)))
        }
        let bytes = times.encoded
        expect(VerifiedTimes(bytes)?.entries, equals: times.entries)
        // 12 bytes an object.
        expect(bytes.count, equals: 48 + 20 * 12)
        for count in 0..<bytes.count { expect(VerifiedTimes(Array(bytes[..<count])) == nil) }
        for position in bytes.indices {
            var wrong = bytes
            wrong[position] ^= 0x10
            expect(VerifiedTimes(wrong) == nil)
        }
    }

    // MARK: Samples

    @Test func `a sample is the same for the same seed, and another one for another`() throws {
        var read: [Int] = []
        for number in 0..<Self.count { try Damage.flip(try path(number), at: 1) }
        var found: [Set<ObjectID>] = []
        for seed: UInt64 in [1, 1, 2] {
            let options = CheckOptions(sample: .init(share: 0.3, seed: seed))
            let report = try temporary.reopened().check(options)
            expect(report.checkedObjects + report.skippedObjects, equals: Self.count)
            read.append(report.checkedObjects)
            found.append(Set(report.findings.compactMap(\.object)))
        }
        // 90 of 300 are expected; seven standard deviations.
        expect(read.allSatisfy { (35...145).contains($0) })
        expect(found[0], equals: found[1])
        expect(found[0] != found[2])
        expect(found[0].count, equals: read[0])
    }

    @Test func `a sample of everything is everything, and every object is in some sample`() throws {
        let all = CheckOptions(sample: .init(share: 1, seed: 5))
        try expect(temporary.reopened().check(all).checkedObjects, equals: Self.count)
        let address = try address(of: "any")
        let seeds = (0..<1000).filter {
            CheckOptions.Sample(share: 0.1, seed: $0).contains(address)
        }
        expect((30...200).contains(seeds.count))
    }

    @Test func `what a sample has read is remembered`() throws {
        let sampled = try temporary.reopened().check(
            CheckOptions(sample: .init(share: 0.5, seed: 3)))
        let rest = try temporary.reopened().check(CheckOptions(since: Self.longAgo))
        expect(rest.skippedObjects, equals: sampled.checkedObjects)
        expect(rest.checkedObjects, equals: sampled.skippedObjects)
    }

    // MARK: As it happens

    @Test func `every finding is told once, as soon as it is certain`() throws {
        for number in 0..<5 { try Damage.flip(try path(number), at: 1) }
        try writeTree(temporary.path + "/versions", ["stray": "by hand"])
        let told = Mutex<[Finding]>([])
        let report = try temporary.reopened().check(
            CheckOptions(found: { finding in told.withLock { $0.append(finding) } }))
        let kinds = told.withLock { $0.map(\.kind.rawValue) }
        expect(kinds.sorted(), equals: report.findings.map(\.kind.rawValue).sorted())
        expect(report.findings.count, equals: 6)
    }
}

extension VerifiedTimes {
    /// The file, as it is described.
    fileprivate var encoded: [UInt8] {
        var bytes = Array("castree-verified 1\n".utf8)
        bytes += [UInt8](repeating: 0, count: 32 - bytes.count)
        for entry in entries {
            for shift in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: entry.prefix >> (8 * shift)))
            }
            for shift in 0..<4 {
                bytes.append(UInt8(truncatingIfNeeded: entry.time >> (8 * shift)))
            }
        }
        let sum = bytes.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        sum.withBytes { bytes.append(contentsOf: $0) }
        return bytes
    }
}
