import OriginTestSupport

/// docs/origin-format.md: where there is too little space for packs, the release is offered without, and a notice says
/// so.
@Suite("A release on a disk with little space") struct ScarceSpaceTests {
    private static func taken(in directory: String) -> Int64 {
        let names = FileManager.default.subpaths(atPath: directory) ?? []
        return names.reduce(0) { sum, name in
            var status = stat()
            // What a file system has put off to write has no blocks yet.
            return lstat("\(directory)/\(name)", &status) == 0
                ? sum + (Int64(status.st_size) + 4095) / 4096 * 4096 : sum
        }
    }

    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(2) }

    /// - Returns: the notices; `nil` if there was no space for the release.
    private func publish(
        _ version: String, _ timing: PackOptions.Timing, in place: PackingFixture,
        of byteCount: Int64
    ) throws -> [String]? {
        let origin = place.place.origin
        let disk = FullFileSystem { $0.available = max(0, byteCount - Self.taken(in: origin)) }
        let notices = Notices()
        let publisher = place.publisher(timing, on: disk) { $0.notice = notices.sink }
        do throws(StoreError) {
            _ = try publisher.publish(version, of: place.place.versions)
        } catch {
            expect(error.code, equals: .outOfSpace)
            return nil
        }
        try expect(place.place.read()?.version, equals: version)
        return notices.all
    }

    @Test
    func `is offered wherever it would be if no packs were made, and what is missing is said`()
        throws
    {
        var (deniedCount, withoutCount, wholeCount) = (0, 0, 0)
        for kibibytes in stride(from: 1_536, through: 3_328, by: 128) {
            let byteCount = Int64(kibibytes) << 10
            let plain = PackingFixture(fixture, origin: "plain-\(kibibytes)")
            let packed = PackingFixture(fixture, origin: "packed-\(kibibytes)")
            let isSpace = try publish("r1", .never, in: plain, of: byteCount) != nil
            let notices = try publish("r1", .before, in: packed, of: byteCount)
            expect(notices != nil, equals: isSpace, "\(kibibytes) KiB")
            guard let notices else {
                deniedCount += 1
                continue
            }
            let hasPacks = try packed.pointer().releases[0].delivery != nil
            if hasPacks { wholeCount += 1 } else { withoutCount += 1 }
            let said = notices.filter { $0.contains("no packs are made of version r1") }
            expect(said.count, equals: hasPacks ? 0 : 1, "\(notices)")
            expect(said.allSatisfy { $0.contains("free space, then run castree pack r1 ") })
        }
        expect(deniedCount > 0 && withoutCount > 0 && wholeCount > 0)
    }

    @Test func `takes the space of what is kept to make the next packs, with and without packs`()
        throws
    {
        try fixture.publish("r1")
        expect(!fixture.kept("frames").isEmpty)
        let taken = Self.taken(in: fixture.place.origin)
        for timing in [PackOptions.Timing.never, .before] {
            var (hasKept, hasDropped) = (false, false)
            for kibibytes in stride(from: 1_024, through: 2_560, by: 128) {
                let place = try PackingFixture(copying: fixture, to: "\(timing)-\(kibibytes)")
                let bare = try PackingFixture(copying: fixture, to: "bare-\(timing)-\(kibibytes)")
                Damage.remove(bare.place.origin + "/.publish/frames")
                let byteCount = taken + Int64(kibibytes) << 10
                let isSpace = try publish("r2", .never, in: bare, of: byteCount) != nil
                let notices = try publish("r2", timing, in: place, of: byteCount)
                expect(notices != nil, equals: isSpace, "\(timing), \(kibibytes) KiB")
                guard isSpace else { continue }
                if place.kept("frames").isEmpty { hasDropped = true } else { hasKept = true }
            }
            expect(hasKept && hasDropped, "\(timing)")
        }
    }
}
