import OriginTestSupport

// DESIGN.md, "Root and the owner": the owner of the directory above may fail root's looks, and exchange directories
// between any two of them.
@Suite("An origin of another user that root publishes to") struct OthersOriginTests {
    private static let owner: UInt32 = 5001
    private static let reason = geteuid() == 0 ? nil : "needs root"

    private let place: PublishingPlace

    init() throws { place = try PublishingPlace() }

    private func theirs(_ path: String) {
        mkdir(path, 0o755)
        chown(path, Self.owner, Self.owner)
    }

    /// What is not the owner's in a directory.
    private func strangers(in path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).filter { name in
            var status = stat()
            expect(lstat("\(path)/\(name)", &status), equals: 0)
            return status.st_uid != Self.owner
        }
    }

    @Test(.disabled(if: reason != nil, "\(reason ?? "")"))
    func `gets nothing that is root's, whichever look at whose it is fails`() throws {
        var refused = 0
        for position in 1... {
            let place = place.withOrigin("origin-\(position)")
            theirs(place.origin)
            let disk = FaultyFileSystem()
            disk.arm(.fail(EIO, at: position, of: [.open, .status]))
            let publisher = place.publisher(on: disk, packs: .before)
            do throws(StoreError) {
                _ = try publisher.publish("1", of: place.versions)
            } catch {
                expect(error.code, equals: .io, "\(position)")
                refused += 1
            }
            try expect(strangers(in: place.origin), equals: [], "\(position)")
            guard disk.hasFired else { break }
        }
        expect(refused > 2)
    }

    @Test(.disabled(if: reason != nil, "\(reason ?? "")"))
    func `gets nothing that is root's, whenever it takes the place of one of root's`() throws {
        for position in 1... {
            let place = place.withOrigin("swapped-\(position)")
            let (origin, other) = (place.origin, "\(place.origin)-theirs")
            mkdir(origin, 0o755)
            theirs(other)
            let disk = FaultyFileSystem()
            disk.on(.before, .open, path: origin, occurrence: position) {
                rename(origin, "\(origin)-roots")
                rename(other, origin)
            }
            // Refused or not: whose files these are is the question.
            _ = try? place.publisher(on: disk, packs: .before).publish("1", of: place.versions)
            let isExchanged = access(other, F_OK) != 0
            try expect(strangers(in: isExchanged ? origin : other), equals: [], "\(position)")
            guard isExchanged else {
                expect(position > 3)
                break
            }
        }
    }
}
