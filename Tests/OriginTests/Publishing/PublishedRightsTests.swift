import OriginTestSupport

/// A publisher whose umask is stricter than that of who made the origin: a unit with `UMask=0077`, a hardened shell.
@Suite("What is published under a stricter umask") struct PublishedRightsTests {
    private struct StrictUmask: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()

        func open(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
        ) throws(StoreError) -> Descriptor {
            try base.open(directory, path, access, mode: mode & ~0o077)
        }

        func makeDirectory(
            _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
        ) throws(StoreError) {
            try base.makeDirectory(directory, path, mode: mode & ~0o077)
        }
    }

    private let place: PublishingPlace

    init() throws { place = try PublishingPlace() }

    /// What readers need, but for the origin's own file, which says who may read.
    private func names() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: place.origin)
            .filter { !$0.hasPrefix(".publish") && $0 != "origin.json" }
    }

    /// Takes others' rights from `names`, of what is in a directory first.
    private func close(_ names: [String]) throws {
        for path in names.sorted().reversed().map({ place.origin + "/" + $0 }) {
            try Damage.setMode(path, Damage.mode(path) & 0o700)
        }
    }

    /// What readers need and others than the owner cannot reach.
    private func closed() throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: place.origin)
        return try names.filter { name in
            guard !name.hasPrefix(".publish") else { return false }
            let path = place.origin + "/" + name
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            let wanted = isDirectory.boolValue ? 0o055 : 0o044
            return try Damage.mode(path) & wanted != wanted
        }.sorted()
    }

    @Test
    func `can be read by all who read the origin before, whichever command wrote it`() throws {
        try place.publish("1")
        let strict = place.publisher(on: StrictUmask(), packs: .before)
        try strict.publish("2", of: place.versions)
        try expect(closed(), equals: [])
        try strict.publish("1", of: place.versions, as: ReleaseOffer(channel: ChannelName("beta")))
        try expect(closed(), equals: [])
        _ = try strict.withdraw(VersionName("2"))
        try expect(closed(), equals: [])
        try expect(place.read()?.version, equals: "1")
    }

    @Test func `can be read though origin.json was lost before`() throws {
        try place.publish("1")
        Damage.remove(place.origin + "/origin.json")
        try place.publisher(on: StrictUmask(), packs: .before).publish("2", of: place.versions)
        try expect(closed(), equals: [])
    }

    @Test func `leaves a group what its next publisher needs`() throws {
        try place.publish("1")
        try Damage.setMode(place.origin + "/origin.json", 0o664)
        try place.publisher(on: StrictUmask(), packs: .before).publish("2", of: place.versions)
        for (name, rights) in [("", 0o070), ("/frames", 0o070), ("/packing", 0o060)] {
            let mode = try Damage.mode(place.origin + "/.publish" + name)
            expect(mode & rights == rights, "\(name): \(String(mode, radix: 8))")
        }
    }

    @Test func `stays closed where the origin was made so`() throws {
        let strict = place.publisher(on: StrictUmask())
        for version in ["1", "2"] { try strict.publish(version, of: place.versions) }
        try expect(Damage.mode(place.origin + "/origin.json"), equals: 0o600)
        try expect(Damage.mode(place.origin + "/channels/stable.json"), equals: 0o600)
        // Another publisher's umask opens nothing of it.
        _ = try place.publisher().withdraw(VersionName("2"))
        try expect(Damage.mode(place.origin + "/channels/stable.json"), equals: 0o600)
    }

    @Test(arguments: ["a link", "a file that everybody may write"])
    func `can be written by no others, whatever stands in place of the origin's file`(
        _ what: String
    ) throws {
        try place.publish("1")
        let marker = place.origin + "/origin.json"
        for version in ["2", "1", "2"] {
            if what == "a link" {
                let elsewhere = place.store.directory.appending("elsewhere-\(try randomToken())")
                try FileManager.default.moveItem(atPath: marker, toPath: elsewhere)
                try Damage.replace(marker, by: .symbolicLink(elsewhere))
            } else {
                try Damage.setMode(marker, 0o666)
            }
            let verifying = place.publisher { $0.verifiesObjects = version == "1" }
            try verifying.publish(version, of: place.versions)
            _ = try place.directoryFindings(repairingFrom: OriginMender([place.versions]))
            let open = try names().filter { try Damage.mode(place.origin + "/" + $0) & 0o002 != 0 }
            expect(open, equals: [])
        }
    }

    @Test func `is opened by publish --verify, where an older castree has written it`() throws {
        for version in ["1", "2"] {
            try place.publisher(packs: .before).publish(version, of: place.versions)
        }
        try close(names())
        try expect(closed().count > 8)
        let notices = Notices()
        let verifying = place.publisher {
            ($0.verifiesObjects, $0.notice) = (true, { notices.add($0) })
        }
        try verifying.publish("2", of: place.versions)
        try expect(closed(), equals: [])
        expect(notices.all.count { $0.contains("had fewer rights") }, equals: 1)
    }

    @Test func `is named by a check, and opened by a repair`() throws {
        for version in ["1", "2"] {
            try place.publisher(packs: .before).publish(version, of: place.versions)
        }
        func findings(repairing: Bool = false) throws -> [OriginFinding] {
            try place.directoryFindings(
                repairingFrom: repairing ? OriginMender([place.versions]) : nil)
        }
        try expect(findings(), equals: [])
        let paths = try names()
        for some in paths.map({ [$0] }) + [paths] {
            try close(some)
            for repairing in [false, true] {
                let found = try findings(repairing: repairing)
                expect(Set(found.map(\.path)), equals: Set(some))
                expect(found.allSatisfy { $0.kind == .wrongMode && $0.isRepaired == repairing })
            }
            try expect(closed(), equals: [])
            try expect(findings(), equals: [])
        }
        // Where all of it is closed to others it is to be so.
        try close(paths + ["origin.json"])
        try expect(findings(), equals: [])
    }
    @Test("is no finding if it comes or goes while a check looks") func passing() throws {
        try place.publish("1")
        // A publisher makes a directory, and gives it its rights; what was made for packs is removed.
        let made = try require(Damage.names(place.origin + "/objects").first)
        let shard = place.origin + "/objects/" + made
        let work = place.origin + "/.publish/work-1"
        try Damage.setMode(shard, 0o700)
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
        let disk = FaultyFileSystem()
        disk.onEach { timing, operation in
            guard timing == .before else { return }
            if operation.verb == .open, operation.path == work { Damage.remove(work) }
            // It comes after the objects.
            if operation.path.hasSuffix("/channels") { try? Damage.setMode(shard, 0o755) }
        }
        try expect(place.directoryFindings(on: disk), equals: [])
        expect(!FileManager.default.fileExists(atPath: work))
    }
}
