import OriginTestSupport

@Suite("A file of an origin that the disk does not give back") struct UnreadableOriginTests {
    /// A disk that cannot read some files; others in their place it can.
    private final class BadDisk: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()
        let bad = Mutex<Set<UInt64>>([])

        func read(
            _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
        ) throws(StoreError) -> Int {
            let inode = try base.status(file).inode
            if bad.withLock({ $0.contains(inode) }) {
                throw StoreError(systemCall: "pread", errno: EIO, path: "a bad sector; of two")
            }
            return try base.read(file, into: buffer, at: offset)
        }
    }

    private let people: SignedPlace
    private let whole: [String: [UInt8]]
    private let disk = BadDisk()

    /// Two releases with packs, and a version of the trust.
    init() throws {
        people = try SignedPlace()
        let (place, signing) = (people.place, try people.signing(people.alice))
        for version in ["1", "2"] {
            try place.publisher(packs: .before) { $0.signing = signing }
                .publish(version, of: place.versions)
        }
        try people.publisher(people.signing(people.alice, people.bob)).rotate(
            TrustRotation(adding: [people.key(people.bob)]))
        try FileManager.default.copyItem(
            atPath: place.origin, toPath: place.withOrigin("copy").origin)
        whole = try place.published()
    }

    private func findings(repairing: Bool = false) throws -> [OriginFinding] {
        let aside = try TemporaryStore()
        let mender = try people.place.withOrigin("copy").mender(into: aside.versions)
        return try people.place.directoryFindings(
            .hasty(isDeep: true), on: disk, repairingFrom: repairing ? mender : nil)
    }

    @Test func `is a finding, whichever it is, and another origin gives it back`() throws {
        try expect(findings(), equals: [])
        let kinds = Set(whole.keys.map { $0.split(separator: "/")[0] })
        expect(kinds.count == 9, "\(kinds)")
        // Of an empty file nothing is read.
        for path in whole.keys.sorted() where whole[path]?.isEmpty == false {
            try spoil(path)
            let found = try findings()
            expect(!found.isEmpty && found.allSatisfy { $0.path == path }, "\(path) \(found)")
            let isLog = path.hasPrefix("log/")
            if path != OriginLayout.channelList {
                expect(found.contains { $0.message.contains("Input/output error") }, "\(found)")
                expect(!found.contains { $0.message.contains("castree fsck") }, "\(found)")
            }
            let mended = try findings(repairing: true)
            expect(mended.allSatisfy { $0.path == path && $0.isRepaired == !isLog }, "\(mended)")
            // An entry that cannot be read is not one that is gone: nothing is taken back because of it.
            try expect(people.place.published(), equals: whole, "\(path)")
            try expect(findings().isEmpty == !isLog, "\(path)")
            disk.bad.withLock { $0 = [] }
        }
        try expect(findings(), equals: [])
    }

    @Test func `is written again by publish --verify, if it is content`() throws {
        let signing = try people.signing(people.alice, people.bob)
        for path in whole.keys.sorted() where path.hasPrefix("objects/") {
            try spoil(path)
            for version in ["1", "2"] {
                try people.place.publisher(on: disk) {
                    ($0.signing, $0.verifiesObjects) = (signing, true)
                }.publish(version, of: people.place.versions)
            }
            try expect(people.place.bytes(path), equals: whole[path])
            try expect(findings(), equals: [], "\(path)")
        }
    }

    private func spoil(_ path: String) throws {
        var status = stat()
        expect(lstat("\(people.place.origin)/\(path)", &status), equals: 0)
        disk.bad.withLock { $0 = [UInt64(status.st_ino)] }
    }
}
