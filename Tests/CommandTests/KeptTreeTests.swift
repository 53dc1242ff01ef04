import ProgramTestSupport

/// The tree of the current version, which a repair has left without what is lost.
@Suite struct KeptTreeTests {
    @Test("is whole again after a pull that brings the lost object, whatever version it pulls")
    func pulled() throws {
        for offered in ["1", "2"] {
            let place = Workplace(inMemory: true)
            let shared = ["a": "shared content", "index.html": "<h1>one</h1>"]
            try place.add("1", shared, "--activate")
            try place.add("2", shared.merging(["index.html": "<h1>two</h1>"]) { $1 })
            try place.done("publish", "1", "site", "--no-packs")
            try expect(place.device("pull", "site").status, equals: 0)
            try expect(place.device("boot").status, equals: 0)
            let file = "device/versions/1/a"
            try Damage.flip(place.directory.appending(path: file).path, at: 1)
            let repaired = try place.device("fsck", "--repair")
            expect(repaired.status == 4 && !place.exists(file), "\(repaired)")
            if offered == "2" {
                try place.done("publish", "2", "site", "--no-packs")
            }
            let pulled = try place.device("pull", "site", "--keep").ended()
            try expect(place.contents(file), equals: "shared content", "\(offered)")
            if offered == "2" {
                expect(
                    pulled.errors.contains("version 1 was missing objects and is complete again"))
            }
            try place.device("fsck").ended()
        }
    }
}
