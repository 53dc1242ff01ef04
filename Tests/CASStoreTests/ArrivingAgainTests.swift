import StorageTestSupport

/// Content that goes on arriving: after a cut, a kill, a full disk, beside other writers.
@Suite struct ArrivingAgainTests {
    static let small = ArrivingTests.small
    static let large = ArrivingTests.large

    // MARK: Going on

    @Test(arguments: Array(stride(from: 0, through: 100, by: 10)), [5_000, 600_000])
    func `goes on at every tenth, in another process`(percent: Int, count: Int) throws {
        let temporary = try TemporaryStore(isDurable: true)
        let content = SampleBytes.ramp(count)
        let cut = count * percent / 100
        for way in ["suspended", "dropped"] {
            do {
                let arrivals = try Arrivals(temporary.store)
                var arrival = try arrivals.begin(address(of: content), byteCount: Int64(count))
                try arrival.append(Array(content.prefix(cut)).span.bytes)
                if way == "suspended" { try arrival.suspend() }
            }
            let other = try temporary.reopened()
            let arrivals = try Arrivals(other.store)
            do {
                let arrival = try arrivals.begin(address(of: content), byteCount: Int64(count))
                expect(arrival.offset, equals: Int64(cut), "\(way)")
            }
            _ = try bring(content, arrivals)
            try arrivals.settle()
            try expect(other.store.read(address(of: content), limit: 1 << 20), equals: content)
            expect(temporary.staged, equals: [])
            // Garbage now: the second way begins anew.
            try other.store.objects.remove([address(of: content)])
        }
    }

    @Test func `a torn part is refused at the end, and the next attempt starts over`() throws {
        let temporary = try TemporaryStore()
        let staged = try temporary.path + "/staging/" + address(of: Self.large).description
        var torn = Array(Self.large.prefix(300_000))
        torn.replaceSubrange(4096..<8192, with: [UInt8](repeating: 0, count: 4096))
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: torn)
        let arrivals = try Arrivals(temporary.store)
        expect(code { _ = try bring(Self.large, arrivals) }, equals: .mismatch)
        _ = try bring(Self.large, arrivals)
        try arrivals.settle()
        try expect(
            temporary.store.read(address(of: Self.large), limit: 1 << 20), equals: Self.large)
    }

    /// Ends the process, for the disk: nothing is tidied up.
    private func kill(_ disk: FaultyFileSystem) { disk.arm(.stop(after: 0)) }

    @Test(arguments: [true, false])
    func `what was finished when the process was killed is gone on with`(
        isProvisional: Bool
    ) throws {
        let temporary = try TemporaryStore()
        let contents = [Self.small, Self.large, bytes("of nobody")]
        let standIns = try (0..<3).map { try address(of: "stand-in \($0)") }
        // The version names what is known of the first two: their addresses, or stand-ins.
        let entries = try (0..<2).map { position in
            Manifest.Entry(
                path: try TreePath("f\(position)"),
                address: isProvisional
                    ? standIns[position] : try address(of: contents[position]),
                byteCount: Int64(contents[position].count))
        }
        try temporary.versions.register(
            Manifest(version: VersionName("1"), ordinal: 1, createdAt: 1, entries: entries))
        let label = try require(Label(.sha1, bytes: Array(repeating: 1, count: 20)))
        let disk = FaultyFileSystem()
        do {
            let arrivals = try Arrivals(temporary.reopened(on: disk).store)
            for (content, name) in zip(contents, standIns) {
                _ = try bring(content, arrivals, named: isProvisional ? name : nil)
            }
            kill(disk)
        }
        try temporary.waitForDeadLease()
        let arrivals = try Arrivals(temporary.store)
        var offsets: [Int64] = []
        for (content, name) in zip(contents, standIns) {
            let arrival = try arrivals.begin(
                isProvisional ? name : address(of: content), byteCount: Int64(content.count),
                isProvisional: isProvisional, labels: isProvisional ? [label] : [])
            offsets.append(arrival.offset)
        }
        // What no version misses was of no use to anyone.
        expect(offsets, equals: [5_000, 600_000, 0])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test(arguments: ["the same", "another", nil])
    func `what a kill left of content that nothing vouches for is gone on with by its source`(
        later: String?
    ) throws {
        let temporary = try TemporaryStore()
        let name = try address(of: "a stand-in")
        let half = Array(Self.large.prefix(Self.large.count / 2))
        let disk = FaultyFileSystem()
        do {
            let arrivals = try Arrivals(temporary.reopened(on: disk).store)
            var arrival = try arrivals.begin(name, byteCount: nil, isProvisional: true)
            try arrival.note(source: later == nil ? nil : "\"the same\"")
            try arrival.append(half.span.bytes)
            kill(disk)
        }
        try temporary.waitForDeadLease()
        let arrivals = try Arrivals(temporary.store)
        var arrival = try arrivals.begin(name, byteCount: nil, isProvisional: true)
        expect(arrival.offset, equals: (later == nil ? 0 : Int64(half.count)))
        expect(arrival.source, equals: (later == nil ? nil : "\"the same\""))
        if later == "another" {
            try arrival.restart()
            expect(arrival.source == nil)
            try arrival.note(source: "\"another\"")
        }
        try arrival.append(Array(Self.large.dropFirst(Int(arrival.offset))).span.bytes)
        try expect(arrival.finish().object.address, equals: address(of: Self.large))
        try arrivals.settle()
        expect(temporary.staged, equals: [])
    }

    @Test func `what another boot of the system has left is not gone on with`() throws {
        let temporary = try TemporaryStore()
        let name = try address(of: "a stand-in")
        let staged = temporary.path + "/staging/\(name)"
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: Array(Self.large.prefix(300_000)))
        try Damage.replace(staged + ".from", by: .emptyFile)
        try Damage.extend(staged + ".from", by: bytes("castree-part 1 long ago\n\"a tag\"\n"))
        let arrivals = try Arrivals(temporary.store)
        let arrival = try arrivals.begin(name, byteCount: nil, isProvisional: true)
        expect(arrival.offset == 0 && arrival.source == nil)
        try arrival.discard()
        expect(temporary.staged, equals: [])
    }

    @Test func `a note whose part is gone is collected, and no other`() throws {
        let temporary = try TemporaryStore()
        let (gone, here) = (try address(of: "gone"), try address(of: "here"))
        let staging = temporary.path + "/staging/"
        for name in ["\(gone).from", ".\(gone).from.new", "stranger.from"] {
            try Damage.replace(staging + name, by: .emptyFile)
        }
        let arrivals = try Arrivals(temporary.store)
        var arrival = try arrivals.begin(here, byteCount: nil, isProvisional: true)
        try arrival.note(source: "\"a tag\"")
        try arrival.append(Self.large.span.bytes)
        try temporary.store.collect()
        expect(Set(temporary.staged), equals: ["\(here)", "\(here).from", "stranger.from"])
        try arrival.discard()
    }

    @Test func `without a label, provisional content is gone on with only if it was suspended`()
        throws
    {
        for content in [Self.small, Self.large] {
            let temporary = try TemporaryStore(isDurable: true)
            let name = try address(of: "a stand-in")
            let half = Array(content.prefix(content.count / 2))
            func begin(_ arrivals: Arrivals) throws -> Int64 {
                try arrivals.begin(name, byteCount: nil, isProvisional: true).offset
            }
            let disk = FaultyFileSystem()
            do {
                let arrivals = try Arrivals(temporary.reopened(on: disk).store)
                var arrival = try arrivals.begin(name, byteCount: nil, isProvisional: true)
                try arrival.append(half.span.bytes)
                kill(disk)
            }
            try expect(begin(Arrivals(temporary.store)), equals: 0)
            do {
                let arrivals = try Arrivals(temporary.store)
                var arrival = try arrivals.begin(name, byteCount: nil, isProvisional: true)
                try arrival.append(half.span.bytes)
                try arrival.suspend()
            }
            try expect(begin(Arrivals(temporary.store)), equals: Int64(half.count))
        }
    }

    // MARK: Beside others

    @Test(arguments: [5_000, 600_000])
    func `two processes with the same content both end right`(count: Int) throws {
        let content = SampleBytes.ramp(count)
        let half = count / 2
        for first in [0, 1] {
            let temporary = try TemporaryStore()
            let (one, two) = (
                try Arrivals(temporary.store), try Arrivals(temporary.reopened().store)
            )
            var left = try one.begin(address(of: content), byteCount: Int64(count))
            try left.append(Array(content.prefix(half)).span.bytes)
            var right = try two.begin(address(of: content), byteCount: Int64(count))
            expect(right.offset, equals: 0)
            try right.append(content.span.bytes)
            try left.append(Array(content.dropFirst(half)).span.bytes)
            _ = try left.finish()
            _ = try right.finish()
            for arrivals in first == 0 ? [one, two] : [two, one] {
                try arrivals.settle()
                try expect(
                    temporary.store.read(address(of: content), limit: 1 << 20), equals: content)
            }
            expect(temporary.staged, equals: [])
            try expect(temporary.versions.check(CheckOptions(isDeep: true)).findings, equals: [])
        }
    }

    @Test func `a collection keeps what a version misses, and what is on its way`() throws {
        let temporary = try TemporaryStore()
        let other = try temporary.reopened().store
        let wanted = SampleBytes.ramp(300_001)
        try wait(for: [wanted, Self.large], in: temporary)
        let arrivals = try Arrivals(temporary.store)
        for content in [wanted, Self.small] {
            var arrival = try arrivals.begin(address(of: content), byteCount: Int64(content.count))
            try arrival.append(Array(content.prefix(1000)).span.bytes)
            try arrival.suspend()
        }
        // Finished and of no version; the lease protects it.
        let loose = bytes("of no version")
        _ = try bring(loose, arrivals)
        var open = try arrivals.begin(address(of: Self.large), byteCount: 600_000)
        try open.append(Array(Self.large.prefix(500_000)).span.bytes)
        try expect(other.collect().objectCount, equals: 1)
        try expect(arrivals.begin(address(of: wanted), byteCount: 300_001).offset, equals: 1000)
        try expect(arrivals.begin(address(of: Self.small), byteCount: 5000).offset, equals: 0)
        try open.append(Array(Self.large.dropFirst(500_000)).span.bytes)
        _ = try open.finish()
        _ = try other.collect()
        try arrivals.settle()
        _ = try other.collect()
        try expect(other.contains(address(of: loose)))
        try expect(other.contains(address(of: Self.large)))
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `an announced deletion does not take what is settled`() throws {
        let temporary = try TemporaryStore()
        let arrivals = try Arrivals(temporary.store)
        let address = try temporary.put("wanted again")
        try temporary.changeUnnoticed("UPDATE object SET state = 2")
        _ = try bring(bytes("wanted again"), arrivals)
        try arrivals.settle()
        _ = try temporary.reopened().store.collect()
        try expect(temporary.store.read(address, limit: 100), equals: bytes("wanted again"))
    }

    // MARK: A full disk

    @Test func `a full disk in the middle loses nothing that is staged`() throws {
        let temporary = try TemporaryStore()
        let disk = FaultyFileSystem()
        let arrivals = try Arrivals(temporary.reopened(on: disk, isDurable: false).store)
        var arrival = try arrivals.begin(address(of: Self.large), byteCount: 600_000)
        try arrival.append(Array(Self.large.prefix(300_000)).span.bytes)
        disk.arm(.tear(ENOSPC, at: 1, path: "/staging/"))
        let rest = Array(Self.large.dropFirst(300_000))
        do {
            try arrival.append(rest.span.bytes)
            Issue.record("the disk was full")
        } catch {
            expect(error.code, equals: .outOfSpace)
        }
        expect(arrival.offset, equals: 300_000)
        // Somebody makes room.
        try arrival.append(rest.span.bytes)
        _ = try arrival.finish()
        disk.arm(.fail(ENOSPC, at: 1, of: [.link]))
        expect(code { try arrivals.settle() }, equals: .outOfSpace)
        expect(arrivals.unsettledCount, equals: 1)
        try arrivals.settle()
        try expect(temporary.store.contains(address(of: Self.large)))
    }

    @Test func `the reserve of free space is not eaten`() throws {
        let temporary = try TemporaryStore()
        let store = try VersionStore.open(
            temporary.path, options: StoreOptions(isDurable: false, reservedByteCount: 1 << 60)
        ).store
        let arrivals = try Arrivals(store)
        expect(code { _ = try bring(Self.small, arrivals) }, equals: .outOfSpace)
        let error = expectRefusal(.outOfSpace) { try bring(Self.large, arrivals) }
        // What one file needs is not what the caller needs.
        expect(error?.message.contains("needed"), equals: false)
        expect(
            code { _ = try bring(Self.large, arrivals, isSizeKnown: false) }, equals: .outOfSpace)
        expect(arrivals.unsettledCount, equals: 0)
    }
}
