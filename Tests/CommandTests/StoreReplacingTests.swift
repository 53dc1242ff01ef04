import ProgramTestSupport

// rm -rf .castree; castree add … while a server runs.
@Suite struct StoreReplacingTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("activate", "1")
    }

    private func delete() throws {
        try place.shell("chmod -R u+w .castree && rm -rf .castree").ended()
    }

    @Test func `a server continues with the store that is made where the first was deleted`() throws
    {
        let app = Served.newApp()
        let served = try Served(place, ["--app-id", app, "--dashboard"])
        try expect(served.get().body, equals: Release.first["index.html"])
        try delete()
        let gone = try served.get()
        expect(gone.status == 503 && gone.body.contains("The store is gone"), "\(gone)")
        try expect(served.get("/js/app.js", ["Accept": "text/html"]).status, equals: 503)
        // Under the same name.
        try place.add("1", ["index.html": "another", "js/app.js": "other()"])
        try place.castree("activate", "1")
        try expect(served.get().body, equals: "another")
        try expect(served.get("/js/app.js").body, equals: "other()")
        // What is done to it is seen, and its version is held while it is shown.
        try place.add("2", Release.second)
        try place.castree("activate", "2")
        try expect(served.get().body, equals: Release.second["index.html"])
        try expect(place.castree("retire", "1").status, equals: 1)
        let errors = try served.end().errors
        for words in ["the store that is served is gone", "another store is now at"] {
            expect(errors.components(separatedBy: words).count, equals: 2, "\(errors)")
        }
        // The port is the app's in the new store, too.
        let again = try Served(place, ["--app-id", app])
        expect(again.port, equals: served.port)
    }

    @Test func `the token of a server opens it also after its store was made anew`() throws {
        let served = try Served(place, ["--token"])
        let query = try require(served.url.split(separator: "?").last)
        try expect(served.get("/?\(query)").status, equals: 200)
        try delete()
        try place.add("7", Release.second)
        try place.castree("activate", "7")
        try expect(served.get("/?\(query)").body, equals: Release.second["index.html"])
        try expect(served.get().status, equals: 403)
        _ = try served.end()
        try expect(Served(place, ["--token"]).url.hasSuffix(String(query.split(separator: "=")[1])))
    }
}
