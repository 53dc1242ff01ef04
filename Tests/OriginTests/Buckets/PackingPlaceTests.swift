import OriginTestSupport

/// The directory of a store in which packs for buckets are made: only kept to be quicker (docs/buckets.md).
@Suite struct PackingPlaceTests {
    let world: BucketWorld

    init() throws { world = try BucketWorld() }

    private var packing: String { world.versions.store.path + "/packing" }

    private func place() throws -> String {
        let path = StoreLayout.packingPath(try ObjectID(of: Array(world.bucket().place.utf8)))
        return world.versions.store.path + "/" + path
    }

    // MARK: something else stands there

    enum Obstacle: String, CaseIterable, Sendable {
        case file, link, fileInside, lockDirectory

        func put(_ packing: String, _ place: String) throws {
            let files = FileManager.default
            switch self {
            case .file: try Damage.overwriteOrCreate(packing, with: [1])
            case .link:
                try files.createSymbolicLink(atPath: packing, withDestinationPath: "/nowhere")
            case .fileInside:
                try Damage.makeDirectory(packing)
                try Damage.overwriteOrCreate(place, with: [1])
            case .lockDirectory:
                try Damage.makeDirectory(place + "/packing/x")
            }
        }
    }

    @Test(arguments: Obstacle.allCases)
    func `what stands in its place keeps no release from being published, and is named`(
        _ obstacle: Obstacle
    ) throws {
        try obstacle.put(packing, try place())
        let notices = Notices()
        let publisher = world.publisher(packs: .before, options: { $0.notice = notices.sink })
        _ = try publisher.plan("1", of: world.versions)
        let commit = try world.publish("1", by: publisher)
        expect(commit.packing == nil && !commit.isUnchanged)
        // Besides, it is told that an origin begins.
        let told = notices.all.filter { $0.contains("packs") }
        expect(told.count, equals: 1)
        for part in [packing, "delete it", "castree pack 1 s3://model/origin"] {
            expect(told.first?.contains(part), equals: true, "\(told)")
        }
        // Whoever wants packs alone is told so.
        expectRefusal(.io, saying: packing) {
            _ = try publisher.pack("1", of: world.versions, in: .stable)
        }
        Damage.remove(packing)
        let packed = try publisher.pack("1", of: world.versions, in: .stable)
        expect(packed.packing?.packs.count, equals: 1)
        expect(world.broken, equals: [])
    }

    // MARK: who may write there

    /// A disk on which no umask takes rights away.
    private struct UnmaskedDisk: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()

        func open(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
        ) throws(StoreError) -> Descriptor {
            let isNew = access == .updating ? try base.status(directory, path) == nil : false
            let file = try base.open(directory, path, access, mode: mode)
            if isNew || access == .creating { try base.setMode(file.raw, mode) }
            return file
        }

        func makeDirectory(
            _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
        ) throws(StoreError) {
            try base.makeDirectory(directory, path, mode: mode)
            try base.setMode(directory, path, mode)
        }
    }

    @Test func `nobody but the owner may write there, or lock it, whatever the umask`() throws {
        let versions = try VersionStore.open(
            world.versions.store.path, options: world.versions.store.options,
            fileSystem: UnmaskedDisk())
        for version in ["1", "2"] {
            _ = try world.publisher(packs: .before).publish(version, of: versions)
        }
        var modes: [String: Int] = [:]
        for name in try require(FileManager.default.enumerator(atPath: packing)) {
            let path = "\(packing)/\(name)"
            modes[(path as NSString).lastPathComponent] = try Damage.mode(path) & 0o777
        }
        expect(modes["packing"] == 0o600 && modes["packed.json"] == 0o644)
        expect(modes["frames"] == 0o755)
        expect(modes.count >= 6 && modes.values.allSatisfy { $0 & 0o022 == 0 }, "\(modes)")
    }

    // MARK: du, gc

    @Test func `what may not be read there is counted as far as it can be seen`() throws {
        try world.publish("1", by: world.publisher(packs: .before))
        let whole = try world.versions.store.diskUsage()
        let others = try VersionStore.open(
            world.versions.store.path, options: world.versions.store.options,
            fileSystem: FaultyFileSystem { operation in
                operation.access == .directory && operation.path.hasSuffix("/frames")
                    ? StoreError(.permission, "it is somebody else's") : nil
            })
        let seen = try others.store.diskUsage()
        expect(seen[.packing].files < whole[.packing].files && seen[.packing].files > 0)
        expect(seen[.other], equals: whole[.other])
        expect(seen[.objects].files, equals: whole[.objects].files)
    }

    @Test func `it goes with a collection when it was not used for a month, unless somebody packs`()
        throws
    {
        try world.publish("1", by: world.publisher(packs: .before))
        let used = try place()
        let files = FileManager.default
        func make(_ digit: Character, daysAgo: Double, _ name: String? = nil) throws -> String {
            let path = "\(packing)/\(name ?? String(repeating: digit, count: 32))"
            try Damage.makeDirectory(path + "/frames")
            try Damage.overwriteOrCreate(path + "/packing", with: [])
            try Damage.overwriteOrCreate(path + "/frames/x", with: [1])
            try files.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -86_400 * daysAgo)],
                ofItemAtPath: path)
            return path
        }
        let old = try make("a", daysAgo: 31)
        let young = try make("b", daysAgo: 29)
        let locked = try make("c", daysAgo: 400)
        let foreign = try make("d", daysAgo: 400, "notes")
        let disk = POSIXFileSystem()
        let lock = try disk.open(
            POSIXFileSystem.workingDirectory, locked + "/packing", .changing, mode: 0)
        try expect(disk.lock(lock.raw, exclusive: false))
        let planned = try world.versions.store.planCollection()
        expect(files.fileExists(atPath: old))
        let collected = try world.versions.collect()
        // One place, with a file of a byte in it; the blocks are those that du says.
        expect(planned.packing.places == 1 && planned.packing.byteCount == 1)
        expect(planned.packing.diskByteCount >= 512 && planned.objectCount == 0)
        expect(collected.packing == planned.packing && collected.objectCount == 0)
        expect(collected.diskByteCount, equals: planned.diskByteCount)
        expect(!files.fileExists(atPath: old))
        for path in [used, young, locked, foreign] { expect(files.fileExists(atPath: path)) }
        withExtendedLifetime(lock) {}
    }
}
