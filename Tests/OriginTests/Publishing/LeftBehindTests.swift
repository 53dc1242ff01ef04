import OriginTestSupport

/// What others have left in a publisher's own directory, and who may lock there.
@Suite("A publisher among what others left") struct LeftBehindTests {
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(2, scale: 10, publishing: "r1") }

    @Test(
        "publishes, packs, prunes and takes back though it cannot remove what a dead one left",
        arguments: ["staging/left", "work-0123456789abcdef/left"],
        [StoreError.Code.permission, .io])
    func stuck(_ left: String, _ reason: StoreError.Code) throws {
        try writeTree(fixture.place.origin, [".publish/\(left)": "left"])
        // Immutable, foreign, or on a bad sector.
        let disk = FaultyFileSystem { operation in
            operation.verb == .remove && operation.path.hasSuffix("/left")
                ? StoreError(reason, "it cannot be removed") : nil
        }
        let versions = fixture.place.versions
        try fixture.publisher(.before, on: disk).publish("r2", of: versions)
        try fixture.publisher(.never, on: disk).publish("1", of: versions)
        try fixture.publisher(.never, on: disk).pack("1", of: versions)
        try fixture.publisher(.never, on: disk).collect(OriginRetention(graceSeconds: 0))
        _ = try fixture.publisher(.never, on: disk).withdraw(VersionName("1"))
        try expect(fixture.place.read()?.version, equals: "r2")
        expect(Damage.names(fixture.place.origin + "/.publish").contains(left))
        // Who can remove it does.
        try fixture.publish("r2") { $0.packs.level = 4 }
        try fixture.place.publish("1")
        expect(!Damage.names(fixture.place.origin + "/.publish").contains(left))
    }

    @Test func `lets those alone lock who may write there`() throws {
        let before = umask(0o022)
        defer { umask(before) }
        let origin = fixture.place.origin
        // Those of an older castree are closed by the next command; a group that may publish gets the lock.
        for (marker, mode, closed) in [
            (0o644, 0o644, 0o600), (0o644, 0o600, 0o600), (0o664, 0o600, 0o660),
            (0o664, 0o666, 0o660),
        ] {
            chmod(origin + "/origin.json", UInt32(marker))
            chmod(origin + "/.publish/lock", UInt32(mode))
            try fixture.publish("r1")
            try expect(Damage.mode(origin + "/.publish/lock") & 0o777, equals: closed)
        }
        for (marker, mode, closed) in [
            (0o644, 0o644, 0o600), (0o644, 0o664, 0o660), (0o644, 0o600, 0o600),
            (0o664, 0o600, 0o660),
        ] {
            chmod(origin + "/origin.json", UInt32(marker))
            chmod(origin + "/.publish/packing", UInt32(mode))
            // Lost packs are made again.
            Damage.remove(origin + "/packs")
            try fixture.publish("r1")
            try expect(Damage.mode(origin + "/.publish/packing") & 0o777, equals: closed)
        }
    }

    @Test(
        "replaces whatever stands in place of its files when it verifies, keeps what is in a directory, and prunes beside it",
        arguments: ["objects", "manifests", "packs", "deliveries"])
    func strangers(_ kind: String) throws {
        let origin = fixture.place.origin
        let verifying = fixture.publisher { $0.verifiesObjects = true }
        try verifying.publish("r1", of: fixture.place.versions)
        let names = Damage.names("\(origin)/\(kind)").sorted()
        let path = try require(
            names.first { (try? Damage.contents("\(origin)/\(kind)/\($0)")) != nil })
        let file = "\(origin)/\(kind)/\(path)"
        let before = try Damage.files(below: origin)
        let strangers: [Damage.Stranger] = [
            .nothing, .emptyFile, .directory, .fifo, .socket, .symbolicLink("/etc/passwd"),
            .symbolicLink("nowhere"),
        ]
        for stranger in strangers {
            try Damage.replace(file, by: stranger)
            if case .directory = stranger { try writeTree(file, ["somebody's": "own"]) }
            try verifying.publish("r1", of: fixture.place.versions)
            try expect(
                Damage.contents(file), equals: before["\(kind)/\(path)"],
                "\(stranger) at \(path)")
            try fixture.readAll(["r1"])
        }
        let aside = try require(
            fixture.kept("").first { $0.hasPrefix("aside-") && $0.hasSuffix("somebody's") })
        try expect(
            String(contentsOf: URL(filePath: "\(origin)/.publish/\(aside)"), encoding: .utf8),
            equals: "own")

        // Whatever stands in place of what no channel offers any more keeps nothing else from going.
        guard ["manifests", "deliveries"].contains(kind) else { return }
        try fixture.publish("r2")
        try Damage.replace(file, by: .directory)
        _ = try fixture.publisher(.never).withdraw(VersionName("r1"))
        try fixture.publisher(.never).collect(OriginRetention(graceSeconds: 0))
        try fixture.readAll(["r1", "r2"])
    }
}
