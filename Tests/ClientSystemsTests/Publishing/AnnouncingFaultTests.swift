import HotPush
import Origin
import StorageTestSupport

@testable import ClientSystems

/// What a publisher's disk is asked for, and what it refuses: in a bucket AnnouncedBucketFaultTests have every fault.
@Suite("Announcing to the clients of other systems on a failing disk") struct AnnouncingFaultTests {
    private let place: AnnouncingPlace

    init() throws {
        place = try AnnouncingPlace()
        try place.publish("1")
        try place.enable(.codePush, .expo)
    }

    @Test(
        "makes deflated copies durable before facts, facts before histories, and these before the pointer"
    )
    func order() throws {
        let disk = FaultyFileSystem()
        try place.publisher(on: disk, isDurable: true).publish("2", of: place.versions)
        var isSynced = true
        var renamed: [String] = []
        for operation in disk.operations {
            switch operation.verb {
            case .write: isSynced = false
            case .syncAll, .sync: isSynced = true
            case .rename where operation.path.hasPrefix(place.origin):
                expect(isSynced, "\(operation)")
                let path = operation.path.dropFirst(place.origin.utf8.count + 1)
                let parts = path.split(separator: "/")
                let directory =
                    parts[0] == "for"
                    ? parts.dropLast().joined(separator: "/") : String(parts[0])
                if renamed.last != directory { renamed.append(directory) }
            default: break
            }
        }
        expect(
            renamed.filter { $0 != ".publish" },
            equals: [
                "objects", "manifests", "deflated", "facts", "for/expo/documents", "for/codepush",
                "for/expo", "channels",
            ])
    }

    @Test func `offers what it did before where there is no space for deflated copies`() throws {
        let files = try place.announced()
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 1, of: [.write], path: "/twin-"))
        expectRefusal(.outOfSpace, saying: "channel stable offers what it did before") {
            try place.publisher(on: disk).publish("2", of: place.versions)
        }
        try expect(place.announced(), equals: files)
    }
}
