import CurlTransport
import StorageTestSupport

@testable import HotPush

/// How a Meteor release names content.
enum MeteorDialect: CaseIterable, Sendable {
    /// Up to 1.4.2.
    case content
    /// 1.4.2.1.
    case firstSalt
    /// 1.4.2.2 to 1.7.
    case secondSalt
    /// 1.8: `sri`, and a label of it.
    case integrity
    /// 1.8.1 and later: `sri`, and labels that only the publisher can compute; `public/` is listed
    /// twice.
    case today
}

/// A whole release as a Meteor server has it.
///
/// Made to the facts of the plugin's own fixtures: names, URLs, sizes. Tests change what shall be wrong.
struct ServedMeteor {
    struct File {
        var path: String
        var type: String
        var text: String
        var map: String?
        /// Instead of the label of the dialect.
        var hash: String?
        /// Instead of the URL that follows from the path.
        var url: String?
    }

    var version: String
    var files: [File]
    var dialect = MeteorDialect.content
    /// What the index page says; nil for nothing.
    var pageVersion: String?
    var rootURL: String? = "http://localhost:3000/"
    var appID: String? = MeteorFixture.appID
    var compatibility: [String: String]? = [
        "android": MeteorFixture.android, "ios": MeteorFixture.iOS,
    ]
    /// More members of the manifest, in JSON, each with a comma before it.
    var more = ""

    init(_ number: Int, _ dialect: MeteorDialect = .content) {
        version = "version\(number)"
        pageVersion = version
        self.dialect = dialect
        func padded(_ text: String, _ count: Int) -> String {
            text + String(repeating: "/", count: count - text.utf8.count)
        }
        let templateSize = [578, 584, 592][number - 1]
        files = [
            File(
                path: "packages/meteor.js", type: "js", text: padded("meteor", 113_991),
                map: padded("meteor map", 35_677)),
            File(
                path: "app/template.mobileapp.js", type: "js",
                text: padded("template \(number)", templateSize), map: "template map \(number)"),
            File(path: "app/mobileapp.js", type: "js", text: padded("app", 2275), map: "app map"),
            File(
                path: "merged-stylesheets.css", type: "css", text: padded("css", 30),
                map: "css map"),
        ]
        let changed = ["some-file", "some-file (changed)", "some-file (changed again)"]
        add(asset: "app/some-file", changed[number - 1] + "\n")
        if number > 1 { add(asset: "app/some-other-file", "some-other-file\n") }
        for name in [
            "data.json", "font.woff", "image.jpg", "image.png", "javascript.js", "page.html",
            "stylesheet.css", "text.txt", "video.mp4",
        ] { add(asset: "app/some-\(name)", "some-\(name)\n") }
    }

    mutating func add(asset path: String, _ text: String, hash: String? = nil) {
        files.append(File(path: path, type: "asset", text: text, hash: hash))
    }

    // MARK: Names

    private func sri(_ file: File) throws -> String? {
        let isMarked = dialect == .integrity || (dialect == .today && file.type != "asset")
        guard isMarked, file.hash == nil else { return nil }
        var digester = try Digester(.sha512)
        Array(file.text.utf8).withUnsafeBytes { digester.update($0) }
        return digester.finish { Base64.string(Array($0)) }
    }

    func label(_ file: File) throws -> String {
        if let hash = file.hash { return hash }
        let sha1 = try sha1Digits(of: [file.text])
        switch dialect {
        case .content: return sha1
        case .firstSalt: return try sha1Digits(of: ["1", sha1])
        case .secondSalt: return try sha1Digits(of: ["2", sha1])
        case .integrity: return try sha1Digits(of: ["2", sri(file) ?? ""])
        case .today:
            guard let sri = try sri(file) else { return try sha1Digits(of: ["2", sha1]) }
            return try sha1Digits(of: ["2", "source of " + file.path, sri])
        }
    }

    /// The URLs without their queries.
    func urls(_ file: File) -> [String] {
        if let url = file.url { return [url] }
        let name = file.path.hasPrefix("app/") ? String(file.path.dropFirst(4)) : file.path
        let plain = file.type == "asset" ? "/" + name : "/" + file.path
        guard dialect == .today else { return [plain] }
        return file.type == "asset" ? ["/__cordova" + plain, plain] : ["/__cordova" + plain]
    }

    func mapURL(_ file: File) throws -> String {
        let url = urls(file)[0]
        let folder = url[...(url.lastIndex(of: "/") ?? url.startIndex)]
        return try "\(folder)\(label(file)).map"
    }

    // MARK: Documents

    func manifest() throws -> [UInt8] {
        var entries: [String] = []
        for file in files {
            let label = try label(file)
            for url in urls(file) {
                var fields = [
                    #""path":"\#(file.path)","where":"client","type":"\#(file.type)""#,
                    #""cacheable":\#(file.type != "asset"),"size":\#(file.text.utf8.count)"#,
                    #""url":"\#(url)\#(file.type == "asset" ? "" : "?hash=" + label)""#,
                    #""hash":"\#(label)""#,
                ]
                if let sri = try sri(file) { fields.append(#""sri":"\#(sri)""#) }
                if file.map != nil {
                    fields.append(
                        try #""sourceMap":"\#(file.path).map","sourceMapUrl":"\#(mapURL(file))""#)
                }
                entries.append("{" + fields.joined(separator: ",") + "}")
            }
        }
        entries.append(
            #"{"path":"head.html","where":"internal","type":"head","hash":"\#(MeteorFixture.iOS)"}"#
        )
        var keys = ""
        if let compatibility {
            let pairs = compatibility.sorted { $0.key < $1.key }.map {
                #""\#($0.key)":"\#($0.value)""#
            }
            keys = #","cordovaCompatibilityVersions":{\#(pairs.joined(separator: ","))}"#
        }
        return Array(
            #"{"format":"web-program-pre1","version":"\#(version)"\#(keys)\#(more),"manifest":["#
                .utf8)
            + Array(entries.joined(separator: ",\n").utf8) + Array("]}".utf8)
    }

    var page: [UInt8] {
        var members = [#""meteorRelease":"METEOR@1""#]
        if let rootURL { members.append(#""ROOT_URL":"\#(rootURL)""#) }
        if let appID { members.append(#""appId":"\#(appID)""#) }
        if let pageVersion {
            members.append(
                dialect == .today
                    ? #""autoupdate":{"versions":{"web.cordova":{"version":"\#(pageVersion)"}}}"#
                    : #""autoupdateVersionCordova":"\#(pageVersion)""#)
        }
        return MeteorFixture.page("{" + members.joined(separator: ",") + "}")
    }

    // MARK: Places

    /// What the server has, by path.
    func contents(below base: String = "") throws -> [String: Content] {
        let root = base + "/__cordova"
        var result = [
            root + "/manifest.json": Content(
                try manifest(), type: "application/json; charset=UTF-8"
            )
            .tagged("\"\(version)\""),
            root + "/": Content(page, type: "text/html; charset=utf-8").tagged(nil),
        ]
        func place(_ url: String) -> String {
            root + (url.hasPrefix("/__cordova") ? String(url.dropFirst(10)) : url)
        }
        for file in files {
            for url in urls(file) {
                result[place(url)] = Content(file.text).tagged(try "\"\(label(file))\"")
            }
            if let map = file.map { result[place(try mapURL(file))] = Content(map).tagged(nil) }
        }
        return result
    }

    /// The files as a version shows them.
    var tree: [String: String] {
        var result = ["index.html": String(decoding: page, as: UTF8.self)]
        for file in files {
            result[file.path] = file.text
            if let map = file.map { result[file.path + ".map"] = map }
        }
        return result
    }

    /// The directory that is shipped with an app.
    func shipped() throws -> [String: String] {
        var result = tree
        result["program.json"] = String(decoding: try manifest(), as: UTF8.self)
        result["not-in-manifest"] = "not-in-manifest\n"
        return result
    }
}

/// A Meteor server, and a device that pulls from it.
struct MeteorPlace {
    let origin: FaultyOrigin
    let device: TemporaryStore

    init() throws {
        origin = try FaultyOrigin()
        device = try TemporaryStore()
    }

    static let options = PullingFixture.options.with {
        ($0.format, $0.platform) = ("meteor", "ios")
    }

    func serve(_ release: ServedMeteor, below base: String = "") throws {
        origin.replaceAll(try release.contents(below: base))
    }

    /// Ships a release with the app, which starts and is content.
    @discardableResult
    func ship(_ release: ServedMeteor, as name: String? = nil) throws -> EmbeddedReport {
        let path = device.directory.appending("app-\(UUID().uuidString)")
        try writeTree(path, try release.shipped())
        let report = try device.reopened().adopt(
            EmbeddedVersion(directory: path, version: name ?? release.version))
        try start()
        return report
    }

    /// The app starts, and confirms what it starts with.
    @discardableResult
    func start() throws -> String {
        let versions = try device.reopened()
        let boot = try versions.boot()
        try versions.confirm(boot.version, token: boot.token)
        return boot.version
    }

    @discardableResult
    func pull(
        _ options: PullOptions = MeteorPlace.options, parallel: Int = 4, from url: String? = nil
    ) throws -> PullReport {
        let pull = Pull(
            into: try device.reopened(), over: try PullingFixture.transport(parallel: parallel),
            options)
        return try require(try pull.run(url ?? origin.url))
    }

    /// Serves a release, pulls it and starts it.
    func live(_ release: ServedMeteor) throws {
        try serve(release)
        try pull()
        try expect(start(), equals: release.version)
        origin.forgetRequests()
    }

    /// Pulls until so many contents have come, and is interrupted then.
    func interrupt(after count: Int) throws {
        let flag = InterruptionFlag()
        let versions = try VersionStore.open(
            device.path, options: StoreOptions(isInterrupted: { flag.isSet }))
        let options = Self.options.with {
            $0.retries.failureCountMax = 1000
            $0.progress = { if $0.figures.files >= count { flag.set() } }
        }
        let pull = Pull(into: versions, over: try PullingFixture.transport(), options)
        expect(code { try pull.run(origin.url) }, equals: .interrupted)
    }

    /// What was asked for, and how often; without the folder that all have.
    var asked: [String: Int] {
        Dictionary(
            origin.requests.map { ($0.path.replacing("/__cordova/", with: ""), 1) },
            uniquingKeysWith: +)
    }

    func tree(_ version: String) throws -> [String: String] {
        try readTree(device.path + "/versions/" + version)
    }

    var current: String? { get throws { try device.reopened().lifecycle().current } }

    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try device.expectClean(sourceLocation: sourceLocation)
    }

    /// The next start shows a release, and all that it has.
    func expectStart(
        of release: ServedMeteor, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try start() == release.version, sourceLocation: sourceLocation)
        #expect(try tree(release.version) == release.tree, sourceLocation: sourceLocation)
    }

    /// Expects that nothing but what was shown is shown or will be, and returns the error.
    @discardableResult
    func expectRefusal(
        _ options: PullOptions = MeteorPlace.options,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> StoreError? {
        let before = try device.reopened().lifecycle()
        let known = Set(try device.reopened().versions().map(\.version))
        let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
            try pull(options)
        }
        let versions = try device.reopened()
        #expect(try versions.lifecycle() == before, sourceLocation: sourceLocation)
        for row in try versions.versions() where !known.contains(row.version) {
            #expect(row.state == .incomplete, sourceLocation: sourceLocation)
        }
        return error
    }
}

func once(_ paths: String...) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: paths.map { ($0, 1) })
}
