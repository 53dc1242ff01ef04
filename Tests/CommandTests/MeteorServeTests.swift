import ProgramTestSupport

/// A Meteor release on its way: a server has it, `castree pull` fetches it, `castree serve --meteor` shows it.
@Suite struct MeteorServeTests {
    let place: Workplace

    /// A file of the release: the names it has, and the SHA-1 that Meteor labels it with.
    struct File {
        var path: String
        var url: String
        var type: String
        var text: String
        var hash: String
        var isCacheable: Bool { type != "asset" }
    }

    static let files = [
        File(
            path: "packages/meteor.js", url: "/packages/meteor.js", type: "js", text: "meteor()\n",
            hash: "9e89b055985de6ba0dd26d338a56c47f3ac14094"),
        File(
            path: "merged-stylesheets.css", url: "/merged-stylesheets.css", type: "css",
            text: "body { color: red }\n", hash: "7ebf23e9ca216911847635e8ec461c552fc39032"),
        File(
            path: "app/some-file", url: "/some-file", type: "asset", text: "some-file\n",
            hash: "23300652a57f3e819038d9a268ba36af0e25d33b"),
    ]

    init() throws {
        place = Workplace()
        let configuration =
            #"{"meteorRelease":"METEOR@1","ROOT_URL":"https://app.example/","#
            + #""appId":"1waqgcidafgwubeqj8o","autoupdateVersionCordova":"version1"}"#
        let encoded = try require(
            configuration.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        var entries: [String] = []
        var site = [
            "index.html": "<title>mobileapp</title><script>__meteor_runtime_config__ = "
                + "JSON.parse(decodeURIComponent(\"\(encoded)\"))</script>"
        ]
        for file in Self.files {
            let query = file.isCacheable ? "?hash=" + file.hash : ""
            entries.append(
                #"{"path":"\#(file.path)","where":"client","type":"\#(file.type)","#
                    + #""cacheable":\#(file.isCacheable),"size":\#(file.text.utf8.count),"#
                    + #""url":"\#(file.url)\#(query)","hash":"\#(file.hash)"}"#)
            site[String(file.url.dropFirst())] = file.text
        }
        site["manifest.json"] =
            #"{"format":"web-program-pre1","version":"version1","cordovaCompatibilityVersions":"#
            + #"{"android":"4017747c","ios":"0abe549f"},"manifest":["#
            + entries.joined(separator: ",") + "]}"
        try place.write(site, to: "server/__cordova")
    }

    @Test func `what is pulled from a Meteor server is served as the plugin serves it`() throws {
        let origin = try WebOrigin(place.directory.appending(path: "server"))
        try place.done(
            "pull", origin.url, "--format", "meteor", "--platform", "ios", "--activate")
        let served = try Served(place, ["--meteor"])
        expect(served.ready.contains("Serving version version1"))
        for target in ["/", "/anything", "/application/packages/meteor.js"] {
            let page = try served.get(target, ["Accept": "*/*"])
            expect(page.status, equals: 200, "\(target)")
            expect(page.head.contains("Content-Type: text/html"))
            expect(page.body.contains("<title>mobileapp</title>"))
        }
        try expect(served.get("/favicon.ico", ["Accept": "*/*"]).status, equals: 404)
        for file in Self.files {
            let plain = try served.get(file.url, ["Accept": "*/*"])
            expect(plain.status == 200 && plain.body == file.text)
            expect(plain.head.contains("ETag: \"\(file.hash)\"\r\n"), "\(plain.head)")
            expect(plain.head.contains("Cache-Control: no-cache"))
            guard file.isCacheable else { continue }
            let busted = try served.get("\(file.url)?hash=\(file.hash)", ["Accept": "*/*"])
            expect(busted.body, equals: file.text)
            expect(busted.head.contains("max-age=31536000"))
        }
        let known = try served.get("/some-file", ["If-None-Match": "\"\(Self.files[2].hash)\""])
        expect(known.status, equals: 304)
    }
}
