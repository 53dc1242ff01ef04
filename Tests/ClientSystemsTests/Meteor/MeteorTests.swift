import StorageTestSupport

@testable import ClientSystems
@testable import HotPush

@Suite("Meteor's Cordova clients") struct MeteorTests {
    static let root = "http://origin/for/meteor/production/"

    static func configuration() throws -> ClientConfiguration {
        ClientConfiguration(
            .meteor, baseURL: "http://origin",
            deployments: ["production": try ChannelName("stable")])
    }

    /// A release as a server of Meteor's has it: paths below its root, and their bytes.
    struct Server {
        var files: [String: [UInt8]] = [:]

        /// - Parameter isOld: as Meteor 1.4 describes it: labels are SHA-1, source maps are listed with their scripts. Else
        ///   as today: `sri`, labels that only the publisher can compute, files of `public/` under two URLs.
        init(_ version: String, isOld: Bool, changed: String) throws {
            var entries: [String] = []
            func label(_ bytes: [UInt8]) throws -> (hash: String, sri: String) {
                let sri = Base64.string(try Digester.digest(.sha512, of: bytes))
                let text = isOld ? bytes : Array(("2input" + sri).utf8)
                return (Hex.string(try Digester.digest(.sha1, of: text)), sri)
            }
            func add(
                _ path: String, _ type: String, _ text: String, urls: [String], map: String? = nil
            ) throws {
                let bytes = Array(text.utf8)
                let (hash, sri) = try label(bytes)
                for url in urls {
                    let url = url.replacing("HASH", with: hash)
                    var entry =
                        #"{"path":"\#(path)","where":"client","type":"\#(type)","cacheable":\#(type == "js"),"#
                        + #""url":"\#(url)","size":\#(bytes.count),"hash":"\#(hash)""#
                    if !isOld, type == "js" { entry += #","sri":"\#(sri)","replaceable":false"# }
                    if let map {
                        entry += #","sourceMap":"\#(path).map","sourceMapUrl":"/app/\#(hash).map""#
                        files["__cordova/app/\(hash).map"] = Array(map.utf8)
                    }
                    entries.append(entry + "}")
                    let path = url.split(separator: "?")[0].dropFirst()
                    files[path.hasPrefix("__cordova/") ? String(path) : "__cordova/\(path)"] = bytes
                }
            }
            if isOld {
                try add(
                    "packages/meteor.js", "js", "meteor", urls: ["/packages/meteor.js?HASH"],
                    map: "map")
                try add("app/some-file", "asset", changed, urls: ["/some-file"])
                try add("app/a b.txt", "asset", "blank", urls: ["/a b.txt"])
                entries.append(
                    #"{"path":"head.html","where":"internal","type":"head","hash":"2ce23f"}"#)
            } else {
                try add(
                    "HASH.js", "js", changed, urls: ["/__cordova/HASH.js?meteor_js_resource=true"])
                try add("app/x.png", "asset", "picture", urls: ["/__cordova/x.png", "/x.png"])
                try add("dynamic/m.js", "dynamic js", "module", urls: ["/__cordova/dynamic/m.js"])
            }
            files["__cordova/manifest.json"] = Array(
                """
                {"format":"web-program-pre1","version":"\(version)","cordovaCompatibilityVersions":\
                {"android":"a1","ios":"i1"},"PUBLIC_SETTINGS":{"a":[1.50,null]},"manifest":[\(entries.joined(separator: ","))]}
                """.utf8)
            let config = PercentEncoding.unreserved(
                #"{"ROOT_URL":"\#(MeteorTests.root)","appId":"app","autoupdateVersionCordova":"\#(version)"}"#
            )
            files["__cordova/"] = Array(
                "<script>__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"\(config)\"))</script>"
                    .utf8)
        }
    }

    /// Pulls a release, and says what it consists of.
    private func pull(
        into store: TemporaryStore, _ answer: @escaping (String) throws -> MemoryCarrier.Answer?
    ) throws -> Manifest {
        var options = PullOptions()
        options.format = "meteor"
        options.retries.firstDelay = .milliseconds(1)
        options.retries.failureCountMax = 1
        let carrier = MemoryCarrier(answer)
        let report = try require(
            try Pull(into: store.versions, over: carrier, options).run(Self.root))
        return try store.versions.manifest(of: report.version)
    }

    private func served(_ server: Server) -> (String) -> MemoryCarrier.Answer? {
        { url in
            let path = String(url.dropFirst(Self.root.utf8.count))
            let name = path.split(separator: "?", omittingEmptySubsequences: false)[0]
            return PercentEncoding.decoded(name.utf8).flatMap {
                server.files[String(decoding: $0, as: UTF8.self)]
            }.map { (200, [("content-type", "application/octet-stream")], $0) }
        }
    }

    /// Publishes a version of a store for Meteor's clients.
    private func publish(
        _ manifest: Manifest, from store: TemporaryStore, in origin: inout ModelOrigin
    ) throws {
        let version = try origin.add(manifest) { try store.versions.bytes(of: $0) }
        let release = ChannelRelease(.version(version), sequence: 1, createdAt: 1)
        let asked = try origin.clientRelease(release, now: 1, for: Self.configuration())
        try expect(Meteor.objections(to: asked).isEmpty)
        let offer = try origin.publish(
            .version(version), now: 1, for: Meteor.self, Self.configuration())
        // The manifest can be made again from the release, and nobody can write another one.
        var (other, renamed) = (offer, offer)
        other.documents[0].address = try ObjectID(of: [1])
        renamed.documents[0].id = "another version"
        for (offer, isOwn) in [(offer, true), (other, false), (renamed, false)] {
            let forgery = try Meteor.forgery(in: offer, of: asked, reading: { _ in nil })
            expect((forgery == nil), equals: isOwn)
        }
    }

    /// What a client gets that asks for a URL.
    private func answer(_ url: String, _ origin: ModelOrigin) throws -> MemoryCarrier.Answer? {
        let target = url.dropFirst("http://origin".utf8.count).split(separator: "?", maxSplits: 1)
            .map(String.init)
        let request = ClientRequest("GET", target[0], query: target.dropFirst().first)
        guard let answer = try Meteor.answer(request, Self.configuration(), origin) else {
            return nil
        }
        let fields = answer.fields.map { ($0.name, $0.value) }
        return (answer.status, fields, try origin.bytes(of: answer))
    }

    @Test(
        "are served what castree reads of a server of Meteor's, and read the same content",
        arguments: [true, false])
    func roundTrip(isOld: Bool) throws {
        let (publisher, device) = (try TemporaryStore(), try TemporaryStore())
        var origin = ModelOrigin()
        var contents: [ObjectID] = []
        for (number, changed) in ["first", "second"].enumerated() {
            let server = try Server("version\(number + 1)", isOld: isOld, changed: changed)
            let read = try pull(into: publisher, served(server))
            try publish(read, from: publisher, in: &origin)
            let again = try pull(into: device) { [origin] in try answer($0, origin) }
            try expect(again.contentAddress(), equals: read.contentAddress())
            expect(again.version == read.version && again.entries.count == read.entries.count)
            // What the reader keeps of each file and of the release is what it kept at first.
            for (old, new) in zip(read.entries, again.entries) {
                expect(new.labels == old.labels && new.foreign == old.foreign, "\(old.path)")
            }
            let kept = ["cordovaCompatibilityVersions", "PUBLIC_SETTINGS"]
            for key in kept {
                expect(
                    again.foreign.first { $0.key == key }?.value,
                    equals: read.foreign.first { $0.key == key }?.value, "\(key)")
            }
            contents.append(try again.contentAddress())
        }
        expect(Set(contents).count, equals: 2)
        // Whoever began with the first release finds its files, as far as they have URLs of their own.
        let first = try publisher.versions.manifest(of: "version1")
        for entry in first.entries where entry.path.description != "index.html" {
            for route in entry.routes {
                let path =
                    route.hasPrefix("/__cordova/")
                    ? String(route.dropFirst(11)) : String(route.dropFirst())
                let url = Self.root + "__cordova/" + PercentEncoding.path(path)
                try expect(answer(url, origin)?.status, equals: 200, "\(route)")
            }
        }
    }

    @Test
    func `get 404 for whatever else is asked, and tags that they compare with labels`() throws {
        let publisher = try TemporaryStore()
        let server = try Server("version1", isOld: true, changed: "x")
        var origin = ModelOrigin()
        try publish(pull(into: publisher, served(server)), from: publisher, in: &origin)
        let hash = Hex.string(try Digester.digest(.sha1, of: Array("x".utf8)))
        let file = try require(try answer(Self.root + "__cordova/some-file", origin))
        expect(file.fields.contains { $0.0 == "etag" && $0.1 == "\"\(hash)\"" })
        expect(file.fields.contains { $0.0 == "cache-control" && $0.1 == "no-cache" })
        let page = try require(try answer(Self.root + "__cordova/", origin))
        expect(
            page.fields.contains { $0.0 == "content-type" && $0.1 == "text/html; charset=utf-8" })
        for path in [
            "", "__cordova", "manifest.json", "__cordova/index.html", "__cordova/app/some-file",
            "__cordova/packages", "__cordova/packages%2Fmeteor.js", "__cordova/../manifest.json",
            "__cordova/%", "__cordova/%00", "__cordova//", "__cordova/program.json",
        ] {
            try expect(answer(Self.root + path, origin)?.status, equals: 404, "\(path)")
        }
        try expect(
            answer("http://origin/for/meteor/other/__cordova/manifest.json", origin)?.status,
            equals: 404)
        try expect(answer("http://origin/for/chcp/production/chcp.json", origin) == nil)
        let post = ClientRequest("POST", "/for/meteor/production/__cordova/manifest.json")
        try expect(Meteor.answer(post, Self.configuration(), origin)?.status, equals: 405)
    }

    @Test func `cannot be told everything: what, is said before`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("1", ["index.html": "x"])
        func objections(
            _ target: ChannelRelease.Target, _ requirements: [Requirement] = [],
            perMille: Int? = nil,
            content: ClientContent? = nil, page: String = ""
        ) throws -> [ClientObjection] {
            var asked = try origin.clientRelease(
                ChannelRelease(
                    target, sequence: 1, createdAt: 1,
                    rollout: perMille.map { Rollout(perMille: $0, salt: "s") },
                    requirements: requirements), now: 1, for: Self.configuration())
            if let content { asked.content = content }
            asked.read = { (_) throws(StoreError) in Array(page.utf8) }
            return try Meteor.objections(to: asked)
        }
        let publisher = try TemporaryStore()
        let read = try pull(into: publisher, served(Server("1", isOld: true, changed: "x")))
        let content = ClientContent(manifest: read, facts: ContentFacts([]))
        let target = ChannelRelease.Target.version(version)
        // What the plugin asks after an update is the ROOT_URL of the page that came with it.
        for (rootURL, isSaid) in [
            (Self.root, false), ("https://app.example.org/", true),
            ("http://origin/for/meteor/production", true),
            ("http://origin/for/meteor/other/", true),
        ] {
            let config = PercentEncoding.unreserved(#"{"ROOT_URL":"\#(rootURL)","appId":"a"}"#)
            let found = try objections(
                target, content: content,
                page:
                    "<script>__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"\(config)\"))</script>"
            )
            expect(found.map(\.refuses), equals: (isSaid ? [false] : []), "\(rootURL)")
            expect(!isSaid || found[0].message.contains("ROOT_URL=\(Self.root)"), "\(found)")
        }
        func requiring(_ kind: String, _ value: String) throws -> [ClientObjection] {
            try objections(target, [.init(kind: kind, value: value)], content: content)
        }
        expectObjections([
            (try objections(target, content: content), nil, ""),
            (try requiring("compatibility", "i1"), nil, ""),
            (try objections(target), true, "castree pull --format meteor"),
            (try objections(.embedded), true, "go back"),
            (try objections(target, perMille: 10, content: content), true, "--rollout"),
            (try requiring("compatibility", "z"), true, "requires z"),
            (try requiring("group", "z"), true, "group z"),
        ])
    }
}

extension VersionStore {
    fileprivate func bytes(of entry: Manifest.Entry) throws -> [UInt8] {
        try Damage.contents(
            store.path + "/" + "objects/\(entry.address.description.prefix(2))/"
                + entry.address.description.dropFirst(2))
    }
}
