import StorageTestSupport

@testable import HotPush

/// docs/origin-format.md, "How it is served"; what else is in an origin is the publisher's own.
@Suite struct ServedFileTests {
    private static let digits = String(repeating: "0123456789abcdef", count: 4)
    private static let split = "\(digits.prefix(2))/\(digits.dropFirst(2))"

    @Test func `devices may ask for an origin's files by their one spelling, and for no others`()
        throws
    {
        let address = try require(ObjectID(Self.digits))
        let digits = Self.digits
        let served: [(path: String, identity: ServedFile.Identity)] = [
            ("origin.json", .changing), ("channels.json", .changing),
            ("channels/stable.json", .changing), ("channels/a-b_1.json", .changing),
            ("objects/\(Self.split)", .addressed(address)),
            ("packs/\(Self.split)", .addressed(address)),
            ("manifests/\(digits).json", .addressed(address)),
            ("deliveries/\(digits).json", .addressed(address)),
            ("manifests/\(digits).from.\(digits).json", .constant), ("trust/2.json", .constant),
            // In a bucket, or a copy of one.
            ("e/1/objects/\(Self.split)", .addressed(address)),
            ("e/12/packs/\(Self.split)", .addressed(address)),
            ("e/1/manifests/\(digits).json", .addressed(address)),
            ("e/1/deliveries/\(digits).json", .addressed(address)),
            ("e/1/places/\(digits).json", .addressed(address)),
        ]
        for (path, identity) in served {
            let file = try require(ServedFile(path), "\(path)")
            expect(file.path == path && file.identity == identity, "\(path)")
            expect(file.isDocument, equals: path.hasSuffix(".json"))
            let epoch: Int64 = path.hasPrefix("e/12/") ? 12 : path.hasPrefix("e/") ? 1 : 0
            expect(file.epoch, equals: epoch)
            for other in ["/\(path)", "\(path)/", "./\(path)", "\(path) ", path.uppercased()] {
                expect(ServedFile(other) == nil, "\(other)")
            }
        }
        for path in [
            "", "/", "..", "objects", "objects/", "objects/\(digits)", "objects/ab",
            "objects/ab/cd",
            "objects/\(Self.split)/x", "objects/../objects/\(Self.split)", "deflated/\(Self.split)",
            "facts/\(digits).json", "for/capgo/config.json", "for/capgo/stable.json",
            ".publish/lock", "log/0000000001.json", "channels/.json", "channels/stable",
            "channels/../origin.json", "channels/a/b.json", "channels/%73table.json",
            "manifests/1.0.json", "manifests/\(digits)", "trust/0.json", "trust/02.json",
            "trust/x.json", "e/0/objects/\(Self.split)", "e/01/objects/\(Self.split)",
            "e/1/origin.json", "e/1/channels/stable.json", "e/1/facts/\(digits).json",
            "e/1/e/1/objects/\(Self.split)", "places/\(digits).json", "origin.json\0",
        ] {
            expect(ServedFile(path) == nil, "\(path)")
        }
    }
}
