import OriginTestSupport

@testable import HotPush

/// An object of the store that another program has changed: what is sent and what is fetched.
@Suite struct TouchedContentTests {
    struct Touch: Sendable, CustomStringConvertible {
        let description: String
        let happen: @Sendable (String) throws -> Void
    }

    static let touches: [Touch] = [
        .init(description: "written, same length") { try Damage.flip($0, at: 1) },
        .init(description: "cut") { try Damage.truncate($0, to: 2) },
        .init(description: "replaced") { path in
            let bytes = try Damage.contents(path)
            Damage.remove(path)
            try Data(bytes.reversed()).write(to: URL(filePath: path))
        },
        .init(description: "removed") { Damage.remove($0) },
    ]

    private static func path(of address: ObjectID, in store: VersionStore) -> String {
        "\(store.store.absolutePath)/objects/\(StoreLayout.objectPath(address))"
    }

    @Test(
        "is published nowhere, alone or in a pack, and the channel offers what it did before",
        arguments: touches, places)
    func publishing(_ touch: Touch, _ kind: OriginPlace) throws {
        for packs in [PackOptions.Timing.never, .before] {
            let place = try PublishingPlace(kind)
            try place.publisher(packs: packs).publish("1", of: place.versions)
            let before = try place.pointer()
            let address = try address(of: "<h1>two</h1>")
            try touch.happen(Self.path(of: address, in: place.versions))
            let error = expectRefusal(saying: address.description) {
                try place.publisher(packs: packs).publish("2", of: place.versions)
            }
            // The bucket in memory has words of its own.
            let saysWhatToDo = error?.message.contains("castree fsck --repair") ?? false
            expect(saysWhatToDo || packs == .never && kind == .bucket, "\(error as Any)")
            try expect(place.bytes(OriginLayout.path(.object, address)) == nil)
            try expect(place.pointer(), equals: before)
            try expect(place.read()?.files, equals: PublishingPlace.first)
        }
    }

    @Test(
        "comes again with a pull that would have reused it, and the trees of before show it",
        arguments: touches)
    func pulling(_ touch: Touch) throws {
        let fixture = try PullingFixture()
        try fixture.place.store.add("t1", ["a": "first", "b": "second"])
        try fixture.place.store.add("t2", ["a": "first", "b": "second", "c": "third"])
        try fixture.publish("t1")
        try fixture.run()
        try touch.happen(Self.path(of: address(of: "first"), in: fixture.device.versions))
        try fixture.publish("t2")
        try expect(fixture.run().reusedObjects, equals: 1)
        try expect(fixture.tree("t2"), equals: ["a": "first", "b": "second", "c": "third"])
        try expect(fixture.tree("t1"), equals: ["a": "first", "b": "second"])
    }

    @Test(
        "comes again where an interrupted pull left a version without its tree", arguments: touches)
    func interrupted(_ touch: Touch) throws {
        let fixture = try PullingFixture()
        try fixture.place.store.add("t1", ["a": "first", "b": "second"])
        try fixture.publish("t1")
        try fixture.run()
        Damage.remove(fixture.device.path + "/versions/t1")
        try touch.happen(Self.path(of: address(of: "first"), in: fixture.device.versions))
        try fixture.run()
        try expect(fixture.tree("t1"), equals: ["a": "first", "b": "second"])
        try fixture.expectClean()
    }

    @Test(arguments: touches)
    func `comes again from a server that says only that it has not changed`(_ touch: Touch) throws {
        let fixture = try PullingFixture()
        for commit in ["1", "2"] {
            fixture.origin.replaceAll([
                "/manifest.json": Content(
                    "{\"commit\":\"\(commit)\",\"files\":[{\"path\":\"a\"},{\"path\":\"new\(commit)\"}]}",
                    type: "application/json"),
                "/a": Content("first").tagged("\"a1\""), "/new\(commit)": Content("new"),
            ])
            try fixture.run(parallel: 1) { ($0.format, $0.destination) = ("8fit", .kept) }
            if commit == "1" {
                try touch.happen(Self.path(of: address(of: "first"), in: fixture.device.versions))
            }
        }
        try expect(fixture.tree("2"), equals: ["a": "first", "new2": "new"])
    }
}
