import StorageTestSupport

/// Content that continues arriving: after a cut, a kill, a full disk, beside other writers.
@Suite struct IncomingAgainTests {
    static let small = IncomingTests.small
    static let large = IncomingTests.large

    // MARK: Continuing

    @Test(arguments: Array(stride(from: 0, through: 100, by: 10)), [5_000, 600_000])
    func `continues at every tenth, in another process`(percent: Int, count: Int) throws {
        let temporary = try TemporaryStore(isDurable: true)
        let content = SampleBytes.ramp(count)
        let cut = count * percent / 100
        for way in ["suspended", "dropped"] {
            do {
                let incoming = try IncomingContents(temporary.store)
                var item = try incoming.begin(address(of: content), byteCount: Int64(count))
                try item.append(Array(content.prefix(cut)).span.bytes)
                if way == "suspended" { try item.suspend() }
            }
            let other = try temporary.reopened()
            let incoming = try IncomingContents(other.store)
            do {
                let item = try incoming.begin(address(of: content), byteCount: Int64(count))
                expect(item.offset, equals: Int64(cut), "\(way)")
            }
            _ = try bring(content, incoming)
            try incoming.commit()
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
        let incoming = try IncomingContents(temporary.store)
        expect(code { _ = try bring(Self.large, incoming) }, equals: .mismatch)
        _ = try bring(Self.large, incoming)
        try incoming.commit()
        try expect(
            temporary.store.read(address(of: Self.large), limit: 1 << 20), equals: Self.large)
    }

    /// Ends the process, for the disk: nothing is tidied up.
    private func kill(_ disk: FaultyFileSystem) { disk.arm(.stop(after: 0)) }

    @Test(arguments: [true, false])
    func `what was finished when the process was killed is continued`(
        isPlaceholder: Bool
    ) throws {
        let temporary = try TemporaryStore()
        let contents = [Self.small, Self.large, bytes("of nobody")]
        let placeholders = try (0..<3).map { try address(of: "placeholder \($0)") }
        // The version names what is known of the first two: their addresses, or placeholders.
        let entries = try (0..<2).map { position in
            Manifest.Entry(
                path: try TreePath("f\(position)"),
                address: isPlaceholder
                    ? placeholders[position] : try address(of: contents[position]),
                byteCount: Int64(contents[position].count))
        }
        try temporary.versions.register(
            Manifest(version: VersionName("1"), ordinal: 1, createdAt: 1, entries: entries))
        let label = try require(Label(.sha1, bytes: Array(repeating: 1, count: 20)))
        let disk = FaultyFileSystem()
        do {
            let incoming = try IncomingContents(temporary.reopened(on: disk).store)
            for (content, name) in zip(contents, placeholders) {
                _ = try bring(content, incoming, named: isPlaceholder ? name : nil)
            }
            kill(disk)
        }
        try temporary.waitForDeadLease()
        let incoming = try IncomingContents(temporary.store)
        var offsets: [Int64] = []
        for (content, name) in zip(contents, placeholders) {
            let item = try incoming.begin(
                isPlaceholder ? name : address(of: content), byteCount: Int64(content.count),
                isPlaceholder: isPlaceholder, labels: isPlaceholder ? [label] : [])
            offsets.append(item.offset)
        }
        // What no version misses was of no use to anyone.
        expect(offsets, equals: [5_000, 600_000, 0])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test(arguments: ["the same", "another", nil])
    func `what a kill left of content that nothing proves is continued by its source`(
        later: String?
    ) throws {
        let temporary = try TemporaryStore()
        let name = try address(of: "a placeholder")
        let half = Array(Self.large.prefix(Self.large.count / 2))
        let disk = FaultyFileSystem()
        do {
            let incoming = try IncomingContents(temporary.reopened(on: disk).store)
            var item = try incoming.begin(name, byteCount: nil, isPlaceholder: true)
            try item.note(source: later == nil ? nil : "\"the same\"")
            try item.append(half.span.bytes)
            kill(disk)
        }
        try temporary.waitForDeadLease()
        let incoming = try IncomingContents(temporary.store)
        var item = try incoming.begin(name, byteCount: nil, isPlaceholder: true)
        expect(item.offset, equals: (later == nil ? 0 : Int64(half.count)))
        expect(item.source, equals: (later == nil ? nil : "\"the same\""))
        if later == "another" {
            try item.restart()
            expect(item.source == nil)
            try item.note(source: "\"another\"")
        }
        try item.append(Array(Self.large.dropFirst(Int(item.offset))).span.bytes)
        try expect(item.finish().object.address, equals: address(of: Self.large))
        try incoming.commit()
        expect(temporary.staged, equals: [])
    }

    @Test func `what another boot of the system has left is not continued`() throws {
        let temporary = try TemporaryStore()
        let name = try address(of: "a placeholder")
        let staged = temporary.path + "/staging/\(name)"
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: Array(Self.large.prefix(300_000)))
        try Damage.replace(staged + ".from", by: .emptyFile)
        try Damage.extend(staged + ".from", by: bytes("castree-part 1 long ago\n\"a tag\"\n"))
        let incoming = try IncomingContents(temporary.store)
        let item = try incoming.begin(name, byteCount: nil, isPlaceholder: true)
        expect(item.offset == 0 && item.source == nil)
        try item.discard()
        expect(temporary.staged, equals: [])
    }

    @Test func `a note whose part is gone is collected, and no other`() throws {
        let temporary = try TemporaryStore()
        let (gone, here) = (try address(of: "gone"), try address(of: "here"))
        let staging = temporary.path + "/staging/"
        for name in ["\(gone).from", ".\(gone).from.new", "stranger.from"] {
            try Damage.replace(staging + name, by: .emptyFile)
        }
        let incoming = try IncomingContents(temporary.store)
        var item = try incoming.begin(here, byteCount: nil, isPlaceholder: true)
        try item.note(source: "\"a tag\"")
        try item.append(Self.large.span.bytes)
        try temporary.store.collect()
        expect(Set(temporary.staged), equals: ["\(here)", "\(here).from", "stranger.from"])
        try item.discard()
    }

    @Test func `without a label, placeholder content is continued only if it was suspended`()
        throws
    {
        for content in [Self.small, Self.large] {
            let temporary = try TemporaryStore(isDurable: true)
            let name = try address(of: "a placeholder")
            let half = Array(content.prefix(content.count / 2))
            func begin(_ incoming: IncomingContents) throws -> Int64 {
                try incoming.begin(name, byteCount: nil, isPlaceholder: true).offset
            }
            let disk = FaultyFileSystem()
            do {
                let incoming = try IncomingContents(temporary.reopened(on: disk).store)
                var item = try incoming.begin(name, byteCount: nil, isPlaceholder: true)
                try item.append(half.span.bytes)
                kill(disk)
            }
            try expect(begin(IncomingContents(temporary.store)), equals: 0)
            do {
                let incoming = try IncomingContents(temporary.store)
                var item = try incoming.begin(name, byteCount: nil, isPlaceholder: true)
                try item.append(half.span.bytes)
                try item.suspend()
            }
            try expect(begin(IncomingContents(temporary.store)), equals: Int64(half.count))
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
                try IncomingContents(temporary.store),
                try IncomingContents(temporary.reopened().store)
            )
            var left = try one.begin(address(of: content), byteCount: Int64(count))
            try left.append(Array(content.prefix(half)).span.bytes)
            var right = try two.begin(address(of: content), byteCount: Int64(count))
            expect(right.offset, equals: 0)
            try right.append(content.span.bytes)
            try left.append(Array(content.dropFirst(half)).span.bytes)
            _ = try left.finish()
            _ = try right.finish()
            for incoming in first == 0 ? [one, two] : [two, one] {
                try incoming.commit()
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
        let incoming = try IncomingContents(temporary.store)
        for content in [wanted, Self.small] {
            var item = try incoming.begin(address(of: content), byteCount: Int64(content.count))
            try item.append(Array(content.prefix(1000)).span.bytes)
            try item.suspend()
        }
        // Finished and of no version; the lease protects it.
        let loose = bytes("of no version")
        _ = try bring(loose, incoming)
        var open = try incoming.begin(address(of: Self.large), byteCount: 600_000)
        try open.append(Array(Self.large.prefix(500_000)).span.bytes)
        try expect(other.collect().objectCount, equals: 1)
        try expect(incoming.begin(address(of: wanted), byteCount: 300_001).offset, equals: 1000)
        try expect(incoming.begin(address(of: Self.small), byteCount: 5000).offset, equals: 0)
        try open.append(Array(Self.large.dropFirst(500_000)).span.bytes)
        _ = try open.finish()
        _ = try other.collect()
        try incoming.commit()
        _ = try other.collect()
        try expect(other.contains(address(of: loose)))
        try expect(other.contains(address(of: Self.large)))
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `an announced deletion does not take what is committed`() throws {
        let temporary = try TemporaryStore()
        let incoming = try IncomingContents(temporary.store)
        let address = try temporary.put("wanted again")
        try temporary.changeUnnoticed("UPDATE object SET state = 2")
        _ = try bring(bytes("wanted again"), incoming)
        try incoming.commit()
        _ = try temporary.reopened().store.collect()
        try expect(temporary.store.read(address, limit: 100), equals: bytes("wanted again"))
    }

    // MARK: A full disk

    @Test func `a full disk in the middle loses nothing that is staged`() throws {
        let temporary = try TemporaryStore()
        let disk = FaultyFileSystem()
        let incoming = try IncomingContents(temporary.reopened(on: disk, isDurable: false).store)
        var item = try incoming.begin(address(of: Self.large), byteCount: 600_000)
        try item.append(Array(Self.large.prefix(300_000)).span.bytes)
        disk.arm(.tear(ENOSPC, at: 1, path: "/staging/"))
        let rest = Array(Self.large.dropFirst(300_000))
        do {
            try item.append(rest.span.bytes)
            Issue.record("the disk was full")
        } catch {
            expect(error.code, equals: .outOfSpace)
        }
        expect(item.offset, equals: 300_000)
        // Somebody frees space.
        try item.append(rest.span.bytes)
        _ = try item.finish()
        disk.arm(.fail(ENOSPC, at: 1, of: [.link]))
        expect(code { try incoming.commit() }, equals: .outOfSpace)
        expect(incoming.uncommittedCount, equals: 1)
        try incoming.commit()
        try expect(temporary.store.contains(address(of: Self.large)))
    }

    @Test func `the reserve of free space is not eaten`() throws {
        let temporary = try TemporaryStore()
        let store = try VersionStore.open(
            temporary.path, options: StoreOptions(isDurable: false, reservedByteCount: 1 << 60)
        ).store
        let incoming = try IncomingContents(store)
        expect(code { _ = try bring(Self.small, incoming) }, equals: .outOfSpace)
        let error = expectRefusal(.outOfSpace) { try bring(Self.large, incoming) }
        // What one file needs is not what the caller needs.
        expect(error?.message.contains("needed"), equals: false)
        expect(
            code { _ = try bring(Self.large, incoming, isSizeKnown: false) }, equals: .outOfSpace)
        expect(incoming.uncommittedCount, equals: 0)
    }
}
