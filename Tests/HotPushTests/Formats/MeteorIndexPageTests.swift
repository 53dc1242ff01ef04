import HotPush
import StorageTestSupport

/// The parse-time part of rows 44 to 61 of the plugin's own tests, and what it forgot.
@Suite("Meteor's index page") struct MeteorIndexPageTests {
    let format = MeteorFormat()

    static let root = "http://127.0.0.1:3000/"

    var context: ReleaseContext {
        ReleaseContext(
            platform: "ios",
            app: AppIdentity(id: MeteorFixture.appID, rootURL: "http://localhost:3000/"))
    }

    func inspect(
        _ configuration: String, version: String = "version2", _ context: ReleaseContext? = nil
    ) throws -> AppIdentity? {
        let release = try format.read(
            MeteorFixture.manifest("", version: version), ReleaseContext())
        let page = try require(release.files.first { $0.needsInspection })
        return try format.inspect(
            page, MeteorFixture.page(configuration), of: release, context ?? self.context)
    }

    func message(
        _ configuration: String, version: String = "version2", _ context: ReleaseContext? = nil
    ) -> String? {
        let error = expectRefusal(.unsuitableRelease) {
            try inspect(configuration, version: version, context)
        }
        return error?.message
    }

    static func configuration(
        version: String? = "version2", root: String? = "http://localhost:3000/",
        id: String? = MeteorFixture.appID, more: String = ""
    ) -> String {
        var members = ["\"meteorRelease\":\"none\""]
        if let root { members.append("\"ROOT_URL\":\"\(root)\"") }
        if let version { members.append("\"autoupdateVersionCordova\":\"\(version)\"") }
        if let id { members.append("\"appId\":\"\(id)\"") }
        return "{\(members.joined(separator: ","))\(more)}"
    }

    static func modern(_ version: String) -> String {
        """
        ,"autoupdate":{"versions":{"web.cordova":{"version":"\(version)","versionRefreshable":"r"},\
        "web.browser":{"version":"other"}}},"PUBLIC_SETTINGS":{"a":"ü%"}
        """
    }

    @Test func `that is right says which app it is and where its server is`() throws {
        let old = try inspect(Self.configuration())
        expect(old, equals: AppIdentity(id: MeteorFixture.appID, rootURL: "http://localhost:3000/"))
        let new = try inspect(Self.configuration(version: nil, more: Self.modern("version2")))
        expect(new, equals: old)
    }

    @Test func `of another version is refused, whichever key says so`() {
        let expected = "Version mismatch for index page, expected: version2, actual: version3"
        expect(message(Self.configuration(version: "version3")), equals: expected)
        expect(
            message(Self.configuration(version: nil, more: Self.modern("version3"))),
            equals: expected)
        expect(message(Self.configuration(more: Self.modern("version3"))), equals: expected)
        expect(
            message(Self.configuration(version: "version3", more: Self.modern("version2"))),
            equals: expected)
    }

    @Test func `without a version is taken, as the plugin does`() throws {
        try expect(inspect(Self.configuration(version: nil)) != nil)
    }

    @Test func `compares the publisher's name of the version, not the store's`() throws {
        try expect(
            inspect(Self.configuration(version: "release 1/\u{fc}"), version: "release 1/\u{fc}")
                != nil)
        expect(
            message(Self.configuration(version: "x"), version: "release 1"),
            equals: "Version mismatch for index page, expected: release 1, actual: x")
    }

    @Test(arguments: [nil, "", "not a url", "/x"])
    func `without ROOT_URL is refused`(_ root: String?) {
        expect(
            message(Self.configuration(root: root)),
            equals: "Could not find ROOT_URL in downloaded asset bundle")
    }

    @Test func `must not send a public app to its own device`() throws {
        let sentence =
            "ROOT_URL in downloaded asset bundle would change current ROOT_URL to localhost. "
            + "Make sure ROOT_URL has been configured correctly on the server."
        var context = self.context
        context.app.rootURL = Self.root
        expect(message(Self.configuration(), context), equals: sentence)
        expect(message(Self.configuration(root: "http://LOCALHOST"), context), equals: sentence)
        // What the app does not know yet, the origin says.
        context.app.rootURL = nil
        context.origin = try OriginURL("https://example.org/app")
        expect(message(Self.configuration(), context), equals: sentence)
        // From localhost to localhost, and from anywhere to elsewhere.
        context.app.rootURL = "http://localhost:4000/"
        try expect(inspect(Self.configuration(), context) != nil)
        context.app.rootURL = Self.root
        let moved = try inspect(Self.configuration(root: "https://example.org/"), context)
        expect(moved?.rootURL, equals: "https://example.org/")
    }

    @Test func `is asked for version, server, app, in this order`() {
        expect(
            message(Self.configuration(version: "x", root: nil, id: nil))?
                .hasPrefix("Version mismatch"), equals: true)
        expect(message(Self.configuration(root: nil, id: nil))?.contains("ROOT_URL"), equals: true)
    }

    @Test func `of an app that nobody knows yet needs only an identity`() throws {
        try expect(inspect(Self.configuration(), ReleaseContext())?.id, equals: MeteorFixture.appID)
    }

    @Test(
        "without a configuration that can be read is refused and crashes nothing",
        arguments: [
            "<html></html>", "", "__meteor_runtime_config__ = {};",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%7B%7D\")",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%7B",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%5B%5D\"))",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%22x%22\"))",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%7B\"))",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"\"))",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%7B%7\"))",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%FF\"))",
            "__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"\(String(repeating: "[", count: 100_000))\"))",
        ])
    func unreadable(_ page: String) throws {
        let release = try format.read(MeteorFixture.manifest(""), ReleaseContext())
        let error = expectRefusal(.badRelease) {
            try format.inspect(release.files[0], Array(page.utf8), of: release, context)
        }
        expect(
            error?.message.hasPrefix("Couldn't load runtime config from index file"), equals: true)
    }

    @Test("has its configuration in the first place where both ends are right; a plus stays one")
    func firstPlace() throws {
        let page = Array(
            """
            // __meteor_runtime_config__ = JSON.parse(decodeURIComponent("cut" + x))
            __meteor_runtime_config__ = JSON.parse(decodeURIComponent("%7B%22appId%22:%22a+b%22%7D"))
            __meteor_runtime_config__ = JSON.parse(decodeURIComponent("%7B%7D"))
            """.utf8)
        try expect(MeteorRuntimeConfig(indexPage: page).appID, equals: "a+b")
    }

    @Test("is the only file that is looked at")
    func others() throws {
        let release = try format.read(MeteorFixture(1).bytes, ReleaseContext())
        expect(
            release.files.filter(\.needsInspection).map(\.path.description), equals: ["index.html"])
        let other = try require(release.files.last)
        try expect(format.inspect(other, [], of: release, context) == nil)
    }

    @Test("need not be fetched to notice another app, if the manifest says it")
    func early() throws {
        let more =
            ",\"meteorRuntimeConfig\":\"{\\\"appId\\\":\\\"x\\\",\\\"ROOT_URL\\\":\\\"http://h/\\\"}\""
        let bytes = MeteorFixture.manifest("", more: more)
        let error = expectRefusal(.unsuitableRelease) { try format.read(bytes, self.context) }
        expect(error?.message, equals: MeteorMessages.wrongAppID("http://h/"))
        // ROOT_URL and versions of the manifest are not those of the page: they decide nothing.
        let elsewhere = """
            ,"meteorRuntimeConfig":"{\\"appId\\":\\"\(MeteorFixture.appID)\\",\
            \\"ROOT_URL\\":\\"http://localhost\\",\\"autoupdateVersionCordova\\":\\"old\\"}"
            """
        var context = self.context
        context.app.rootURL = Self.root
        try expect(
            format.read(MeteorFixture.manifest("", more: elsewhere), context).files.count, equals: 1
        )
        for broken in ["\"{\"", "1", "null", "[]"] {
            let bytes = MeteorFixture.manifest("", more: ",\"meteorRuntimeConfig\":\(broken)")
            try expect(format.read(bytes, context).files.count, equals: 1)
        }
    }
}
