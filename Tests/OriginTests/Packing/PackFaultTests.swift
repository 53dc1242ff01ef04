import OriginTestSupport

@Suite("A publisher of packs on a full disk") struct PackFaultTests {
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(2, scale: 10, publishing: "r1") }

    @Test("is asked for space before it compresses, and a release without space has no packs")
    func space() throws {
        // The remedy names all of it.
        let fixture = PackingFixture(fixture, origin: "an origin")
        try fixture.publisher(.never).publish("r2", of: fixture.place.versions)
        let disk = FullFileSystem()
        expectRefusal(.outOfSpace) {
            try fixture.publisher(.before, on: disk).pack("r2", of: fixture.place.versions)
        }
        let notices = Notices()
        let offer = ReleaseOffer(rollout: Rollout(perMille: 100, salt: "x"))
        let publisher = fixture.publisher(.before, on: disk) { $0.notice = notices.sink }
        let plan = try publisher.publish("r2", of: fixture.place.versions, as: offer)
        expect(!plan.isUnchanged && plan.packing == nil)
        try expect(fixture.pointer().releases[0].rollout?.perMille, equals: 100)
        let remedy = "then run castree pack r2 \(fixture.place.origin) --channel stable"
        expect(notices.all.contains { $0.contains(remedy) }, "\(notices.all)")
        expect(!Damage.names(fixture.place.origin + "/.publish").contains { $0.hasPrefix("work-") })
    }

    @Test(
        "leaves nothing of packs for which the space was not enough, and the release is offered",
        arguments: [false, true])
    func fullWhilePacking(_ isOfOthers: Bool) throws {
        let frames = fixture.kept("frames")
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 5, of: [.write]))
        // What is packed for a channel that a signer does not count stays, too.
        let file = fixture.place.store.directory.appending("key")
        try SigningKey.generate().write(to: file)
        let signer = try KeyFileSigner(file: file)
        let plan = try fixture.publisher(.before, on: disk) {
            if isOfOthers { $0.signing.signers = [signer] }
        }.publish(
            "r2", of: fixture.place.versions,
            as: ReleaseOffer(channel: isOfOthers ? ChannelName("beta") : .stable))
        expect(disk.hasFired && !plan.isUnchanged && plan.packing == nil)
        expect(fixture.kept("frames"), equals: frames)
        if isOfOthers { return }
        try expect(fixture.pointer().releases[0].delivery == nil)
        let packed = try fixture.publisher().pack("r2", of: fixture.place.versions)
        expect(packed?.packs.map(\.version), equals: [nil, "r1"])
    }

    @Test(
        "says of a limit of file sizes what it is, and not to free space",
        arguments: [PackOptions.Timing.before, .after])
    func limited(_ timing: PackOptions.Timing) throws {
        let (disk, notices) = (FaultyFileSystem(), Notices())
        disk.arm(.fail(EFBIG, at: 1, of: [.write], path: "/.publish/work-"))
        try fixture.publisher(timing, on: disk) { $0.notice = notices.sink }
            .publish("r2", of: fixture.place.versions)
        let said = notices.all.filter { $0.contains("no packs are made of version r2") }
        expect(disk.hasFired && said.count == 1, "\(notices.all)")
        expect(said.allSatisfy { $0.contains("(ulimit -f, or the file system); then run") })
        expect(said.allSatisfy { !$0.contains("free") }, "\(said)")
    }

    @Test
    func `clears up also while another program is just starting and has everything open`() throws {
        let frames = fixture.kept("frames")
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 5, of: [.write]))
        let child = StartingProgram(base: disk)
        try fixture.publisher(.before, on: child).publish("r2", of: fixture.place.versions)
        expect(disk.hasFired && child.count > 0)
        expect(fixture.kept("frames"), equals: frames)
        // The next one, too, finds nobody at work.
        let packed = try fixture.publisher(.before, on: child) { $0.waitLimit = .zero }
            .pack("r2", of: fixture.place.versions)
        expect(packed?.packs.map(\.version), equals: [nil, "r1"])
    }
}

/// A disk whose locked files a program has open, too, that is just starting: between fork and exec.
private final class StartingProgram: FileSystemWrapper {
    let base: any FileSystem
    private let files = Mutex<[Int32]>([])

    init(base: any FileSystem) { self.base = base }

    deinit { files.withLock { files in for file in files { close(file) } } }

    var count: Int { files.withLock { $0.count } }

    func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        let isLocked = try base.lock(file, exclusive: exclusive)
        // Of the same open file, like a child's: the lock is its, too (flock(2)).
        if isLocked { files.withLock { $0.append(fcntl(file, F_DUPFD_CLOEXEC, 0)) } }
        return isLocked
    }
}
