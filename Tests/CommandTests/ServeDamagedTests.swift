import ProgramTestSupport

// A store that has lost objects, and the server as a user starts it.
@Suite struct ServeDamagedTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("activate", "1")
    }

    @Test("a server starts and serves a version whose objects are gone and whose tree stands")
    func lostObjects() throws {
        for path in ["index.html", "js/app.js"] {
            let object = place.object(try place.address(of: path, in: "1"))
            try FileManager.default.removeItem(at: place.directory.appending(path: object))
        }
        let served = try Served(place)
        for _ in 0..<2 {
            try expect(served.get().body, equals: Release.first["index.html"])
            try expect(served.get("/js/app.js").body, equals: Release.first["js/app.js"])
        }
        let errors = try served.end().errors
        expect(errors.split(separator: "\n").count, equals: 2, "\(errors)")
        expect(errors.contains("versions/1/js/app.js, which has its bytes"))
    }

    @Test func `a running server continues when all objects are taken away`() throws {
        let served = try Served(place)
        for name in try place.names(in: ".castree/objects") {
            try place.remove(".castree/objects/\(name)")
        }
        for (path, content) in Release.first {
            try expect(served.get("/" + path).body, equals: content)
        }
        try expect(served.end().errors.contains("fsck --repair"))
    }

    @Test("what stands in an object's place and in the tree is never served if it is wrong")
    func wrongObject() throws {
        try place.damage(place.object(try place.address(of: "js/app.js", in: "1")), with: "evil()")
        let served = try Served(place)
        try expect(served.get("/js/app.js").status, equals: 500)
        try expect(served.end().errors.contains("do not match its address"))
    }

    // docs/serving.md, "When the store is damaged"; docs/maintenance.md.
    @Test
    func `what cannot be shown is in the log once, and wrong until a check of all finds nothing`()
        throws
    {
        let object = place.object(try place.address(of: "js/app.js", in: "1"))
        try place.damage(object, with: "evil()")
        let served = try Served(place)
        for _ in 1...3 { try expect(served.get("/js/app.js").status, equals: 500) }
        // Written beside the answer, not before it.
        var status = try place.status()
        func told() -> String? {
            status.problems.first { $0.code == "damagedObject" }?.message.text
        }
        for _ in 0..<1_000 where told() == nil { status = try place.status() }
        // The tree shows the same bytes: that is seen by looking.
        expect(Set(status.problems.map(\.code)), equals: ["damagedObject", "wrongInTree"])
        let said = try require(told())
        expect(said.contains("castree fsck --repair") && said.contains("a server"), "\(said)")
        let log = try place.castree("log").text.split(separator: "\n")
        expect(log.count { $0.contains("do not match its address") }, equals: 1, "\(log)")
        try place.damage(object, with: "run(1)")
        // One that leaves objects out may have left out this one.
        try place.done("fsck", "--sample", "1", "--seed", "1")
        try expect(!place.status().well.isTrue)
        try place.done("fsck")
        try expect(place.status().well.isTrue)
        try place.done("fsck", "--sample", "1", "--seed", "1")
        try expect(place.status().well.isTrue)
        try expect(served.end().errors.contains("do not match its address"))
    }

    @Test func `a server names at most so many objects in the log`() throws {
        let files = Dictionary(uniqueKeysWithValues: (1...40).map { ("\($0).txt", "number \($0)") })
        try place.add("2", files.merging(["index.html": "two"]) { $1 }, "--activate")
        for path in files.keys {
            try place.damage(place.object(try place.address(of: path, in: "2")), with: "NUMBER")
        }
        let served = try Served(place)
        for path in files.keys { try expect(served.get("/" + path).status, equals: 500) }
        func logged() throws -> Int {
            try place.castree("log", "--last", "1000").text.split(separator: "\n").count {
                $0.contains("do not match its address")
            }
        }
        var count = try logged()
        for _ in 0..<1_000 where count < 16 { count = try logged() }
        _ = try served.end()
        try expect(logged(), equals: 16)
    }

    @Test(arguments: ["missing", "cut", "edited", "missing, with the index", "cut, with the index"])
    func `a server starts though the manifest of the current version is lost`(how: String) throws {
        let manifest = ".castree/manifests/1.json"
        let file = place.directory.appending(path: manifest)
        let text = try place.contents(manifest)
        try FileManager.default.removeItem(at: file)
        if how.hasPrefix("cut") {
            try place.write(["1.json": String(text.prefix(100))], to: ".castree/manifests")
        }
        if how == "edited" {
            let edited = text.replacing("\"order\":1", with: "\"order\":2")
            try require(edited != text)
            try place.write(["1.json": edited], to: ".castree/manifests")
        }
        if how.hasSuffix("index") {
            try place.remove(".castree/index.sqlite")
        }
        let served = try Served(place)
        for (path, content) in Release.first {
            try expect(served.get("/" + path).body, equals: content)
        }
        try expect(served.end().errors.contains("tree"))
    }

    @Test(arguments: ["missing", "cut"])
    func `a server starts though the lifecycle is lost`(how: String) throws {
        let file = place.directory.appending(path: ".castree/lifecycle.json")
        try FileManager.default.removeItem(at: file)
        if how == "cut" { try place.write(["lifecycle.json": "{"], to: ".castree") }
        let served = try Served(place)
        try expect(served.get().body, equals: Release.first["index.html"])
        try expect(place.castree("fsck", "--repair").status, equals: 1)
        try expect(served.get().body, equals: Release.first["index.html"])
        try expect(served.end().errors.contains("the link current"))
    }
}
