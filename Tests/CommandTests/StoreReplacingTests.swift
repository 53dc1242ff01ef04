import Foundation
import ProgramTestSupport
import Testing

// rm -rf .castree; castree add … while a server runs.
@Suite struct StoreReplacingTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.add("1", Release.first)
        try place.castree("activate", "1")
    }

    private func delete() throws {
        let ended = try place.run(
            .shell, ["-c", "chmod -R u+w .castree && rm -rf .castree"])
        #expect(ended.status == 0, "\(ended.errors)")
    }

    @Test func `a server goes on with the store that is made where the first was deleted`() throws {
        let app = Served.newApp()
        let served = try Served(place, ["--app-id", app, "--dashboard"])
        #expect(try served.get().body == Release.first["index.html"])
        try delete()
        #expect(try served.get().status == 503)
        #expect(try served.get("/js/app.js", ["Accept": "text/html"]).status == 503)
        // Under the same name.
        try place.add("1", ["index.html": "another", "js/app.js": "other()"])
        try place.castree("activate", "1")
        #expect(try served.get().body == "another")
        #expect(try served.get("/js/app.js").body == "other()")
        // What is done to it is seen, and its version is held while it is shown.
        try place.add("2", Release.second)
        try place.castree("activate", "2")
        #expect(try served.get().body == Release.second["index.html"])
        let errors = try served.end().errors
        #expect(errors.contains("the store that is served is gone"))
        #expect(errors.contains("another store is now at"))
        // The port is the app's in the new store, too.
        let again = try Served(place, ["--app-id", app])
        #expect(again.port == served.port)
    }

    @Test func `the token of a server opens it also after its store was made anew`() throws {
        let served = try Served(place, ["--token"])
        let query = try #require(served.url.split(separator: "?").last)
        #expect(try served.get("/?\(query)").status == 200)
        try delete()
        try place.add("7", Release.second)
        try place.castree("activate", "7")
        #expect(try served.get("/?\(query)").body == Release.second["index.html"])
        #expect(try served.get().status == 403)
        _ = try served.end()
        #expect(
            try Served(place, ["--token"]).url.hasSuffix(String(query.split(separator: "=")[1])))
    }
}
