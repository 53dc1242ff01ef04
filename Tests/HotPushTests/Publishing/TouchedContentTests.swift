import BucketTestSupport
import CASStore
import Expectations
import Foundation
import Storage
import StorageTestSupport
import Testing
import VersionTree

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

    @Test("is sent to no bucket, alone or in a pack", arguments: touches)
    func publishing(_ touch: Touch) throws {
        for packs in [PackOptions.Moment.never, .before] {
            let world = try BucketWorld(BucketWorld.Shelf(only: ["1", "2"]))
            try world.publish("1", by: world.publisher(packs: packs))
            // What is new in version 2.
            let shown = world.versions.store.absolutePath + "/versions/2/d.txt"
            let address = try ObjectID(of: Damage.contents(shown))
            try touch.happen(Self.path(of: address, in: world.versions))
            let error = #expect(throws: StoreError.self) {
                try world.publish("2", by: world.publisher(packs: packs))
            }
            expect(error?.message.contains(address.description), equals: true, "\(error as Any)")
            // The bucket in memory has words of its own.
            let saysWhatToDo = error?.message.contains("castree fsck --repair") ?? false
            expect(saysWhatToDo || packs == .never, "\(error as Any)")
            expect(world.store.files["objects/\(StoreLayout.objectPath(address))"] == nil)
            try expect(world.offered(), equals: ["1"])
            world.checkEnd()
            expect(world.broken, equals: [])
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
        let report = try fixture.run()
        expect(report.reusedObjects, equals: 1)
        try expect(
            fixture.tree("t2"), equals: ["a": "first", "b": "second", "c": "third"])
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

    @Test("comes again from a server that says only that it has not changed", arguments: touches)
    func unchanged(_ touch: Touch) throws {
        let fixture = try PullingFixture()
        var options = PullingFixture.options
        options.format = "8fit"
        options.destination = .kept
        for commit in ["1", "2"] {
            fixture.origin.replaceAll([
                "/manifest.json": Content(
                    "{\"commit\":\"\(commit)\",\"files\":[{\"path\":\"a\"},{\"path\":\"new\(commit)\"}]}",
                    type: "application/json"),
                "/a": Content("first").tagged("\"a1\""), "/new\(commit)": Content("new"),
            ])
            try fixture.run(options, parallel: 1)
            if commit == "1" {
                try touch.happen(Self.path(of: address(of: "first"), in: fixture.device.versions))
            }
        }
        try expect(fixture.tree("2"), equals: ["a": "first", "new2": "new"])
    }
}
