import OriginTestSupport

/// An origin in a directory in which a name cannot be written (it is immutable, or another user's), while others can.
@Suite("A name of an origin that cannot be written") struct UnwritableOriginTests {
    private let place: PublishingPlace
    private let copy: PublishingPlace
    private let whole: [String: [UInt8]]

    init() throws {
        place = try PublishingPlace()
        for version in ["1", "2"] {
            try place.publisher(packs: .before).publish(version, of: place.versions)
        }
        try place.publish("2", to: "beta")
        copy = place.withOrigin("copy")
        try FileManager.default.copyItem(atPath: place.origin, toPath: copy.origin)
        whole = try place.published()
    }

    private func closing(
        _ path: String, _ verbs: Set<FaultyFileSystem.Verb>, _ errno: Int32
    ) -> FaultyFileSystem {
        let full = "\(place.origin)/\(path)"
        return FaultyFileSystem { operation in
            operation.path.hasPrefix(full) && verbs.contains(operation.verb)
                ? operation.error(errno) : nil
        }
    }

    private func repaired(on disk: FaultyFileSystem) throws -> [OriginFinding] {
        let aside = try TemporaryStore()
        let location = OriginLocation.directory(copy.origin)
        let repair = OriginRepair(into: aside.versions, over: DirectoryTransport(copy.origin))
        let mender = OriginMender([place.versions, aside.versions]) {
            [copy] (lost) throws(StoreError) in
            try repair.restore(lost, of: copy.origin, at: location)
        }
        return try place.directoryFindings(on: disk, repairingFrom: mender)
    }

    @Test func `stays in a repair, its finding says why, and the rest is repaired`() throws {
        // The log alone and one pointer are left.
        let lost = whole.keys.filter { !$0.hasPrefix("log/") && $0 != "channels/beta.json" }
        expect(Set(lost.map { $0.prefix { $0 != "/" } }).count, equals: 7)
        let directories = ["objects/", "packs/"]
        for (closed, errno) in lost.sorted().map({ ($0, EPERM) })
            + directories.map({ ($0, EACCES) })
        {
            for path in lost { try place.set(path, nil) }
            let found = try repaired(on: closing(closed, [.rename, .renameNew, .link], errno))
            for finding in found {
                let isClosed = finding.path?.hasPrefix(closed) == true
                expect(finding.isRepaired != isClosed, "\(closed): \(finding)")
                let reason = String(cString: strerror(errno))
                expect(
                    finding.message.contains("could not be repaired: ")
                        && finding.message.contains(reason), equals: isClosed, "\(finding)")
            }
            try expect(
                place.published(), equals: whole.filter { !$0.key.hasPrefix(closed) }, "\(closed)")
            let rest = try repaired(on: FaultyFileSystem())
            expect(rest.allSatisfy(\.isRepaired) && !rest.isEmpty, "\(closed): \(rest)")
            try expect(place.published(), equals: whole)
        }
    }

    @Test(arguments: [EPERM, EACCES, EBUSY, EIO])
    func `is named by a prune, which deletes the rest`(_ errno: Int32) throws {
        let stuck = ["deliveries/\(String(repeating: "a", count: 64)).json", ".publish/put-a-1"]
        let other = "manifests/\(String(repeating: "b", count: 64)).json"
        for path in stuck {
            for path in stuck + [other] {
                try Damage.overwriteOrCreate("\(place.origin)/\(path)", with: [1])
            }
            let disk = closing(path, [.remove], errno)
            let report = try place.publisher(on: disk).collect(
                OriginRetention(releaseCount: 10, graceSeconds: 0))
            expect(report.refusedCount == 1 && report.stuck.map(\.path) == [path], "\(report)")
            expect(report.stuck[0].reason.contains(String(cString: strerror(errno))))
            try expect(place.bytes(other) == nil)
        }
        try expect(place.publisher().collect().refusedCount, equals: 0)
    }
}
