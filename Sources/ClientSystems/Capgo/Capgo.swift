import Archives
import HotPush
import Platform
import StrictJSON
import VersionTree

/// The feed of Capgo's clients (capacitor-updater), which post the version that runs and get the one that should.
enum Capgo: ClientFeed {
    static let system = ClientSystem.capgo
    static let namesakes: String? = "Capgo's clients"

    private static let prefix = "/for/capgo/"
    private static let archives = prefix + "archives/"

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        let request = inquiry.request
        switch request.path {
        case prefix + "updates":
            guard request.method == "POST" else { return .wrongMethod("POST") }
            return try update(inquiry)
        case prefix + "stats":
            guard request.method == "POST" else { return .wrongMethod("POST") }
            // No statistics: nothing that a device reports about itself is kept.
            return .json { $0.member("status", "ok") }
        case prefix + "channel_self":
            return error(
                "self_assignment_disabled",
                "Devices cannot change their channel here: it is built into the app (defaultChannel).",
                kind: "blocked")
        default:
            guard request.rest(after: archives) != nil else { return nil }
            guard request.asksForContent else { return .wrongMethod("GET, HEAD") }
            let found = try inquiry.archive(below: archives) { (name, channel) throws(StoreError) in
                guard let offer = try offer(name, in: channel, inquiry.configuration) else {
                    return nil
                }
                try inquiry.origin.willFetch(composing: true)
                return try inquiry.origin.content(of: offer).map(archive)
            }
            return found ?? .notFound("There is no such archive.\n")
        }
    }

    private static func update(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer {
        let question: CapgoRequest
        do throws(JSONError) {
            question = try CapgoRequest(inquiry.request.body)
        } catch let problem {
            return error(
                "invalid_request", "The body cannot be read: \(problem.message)", status: 400)
        }
        guard let channel = try inquiry.channel(of: question.deployment) else {
            return error(
                "app_not_found", "There is no app or channel of that name here.", status: 404)
        }
        var app = AppTraits()
        app.version = question.appVersion
        let newest = try channel.newest(for: question.device) {
            app.objections(to: $0.release.requirements).isEmpty
        } has: { live in
            live.offer.version.map { $0.name.description.utf8.elementsEqual(question.version.utf8) }
                ?? question.runsBuiltIn
        }
        guard let newest, !newest.isHeld else {
            return error("no_new_version_available", "No new version available", kind: "up_to_date")
        }
        return try tell(newest.live.offer, isModern: question.isModern, inquiry)
    }

    /// - Parameter isModern: whether to list single files; other plugins take only archives.
    private static func tell(
        _ offer: ClientOffer, isModern: Bool, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ClientAnswer {
        guard let version = offer.version else {
            return .json { $0.member("version", CapgoRequest.builtin) }
        }
        let name = version.name.description
        guard let archive = offer.archive, let content = try inquiry.origin.content(of: offer)
        else {
            throw .damagedOrigin(
                "the origin has lost what Capgo's clients are offered as \(name); publish it again",
                object: version.content)
        }
        let base = inquiry.configuration.baseURL
        let archiveName = try ArchiveName(version.content)
        return try inquiry.json(
            isLong: isModern && content.isLong,
            named: "capgo \(base) \(name) \(version.content) \(archive.sha256)"
        ) {
            JSONWriter.document { writer in
                writer.member("version", name)
                writer.member("url", "\(base)\(archives)\(archiveName)")
                // Older plugins treat an empty checksum as none, and each part of an archive has its own.
                writer.member("checksum", isModern ? archive.sha256.description : "")
                writer.member("session_key", "")
                guard isModern else { return }
                writer.member("manifest", content.manifest.entries) { writer, entry in
                    writer.member("file_name", entry.path.description)
                    writer.member("file_hash", entry.address.description)
                    writer.member("download_url", inquiry.url(of: entry.address))
                }
            }
        }
    }

    static func archive(_ content: ClientContent) throws(StoreError) -> ZipArchive {
        try ZipArchive(content.members(content.manifest.entries))
    }

    private static func error(
        _ code: String, _ message: String, kind: String = "failed", status: Int = 200
    ) -> ClientAnswer {
        .json(status: status) { writer in
            writer.member("error", code)
            writer.member("message", message)
            writer.member("kind", kind)
        }
    }
}

/// The body of a POST by Capgo's client.
struct CapgoRequest {
    private(set) var app = ""
    /// The channel that is built into the app; empty for none.
    private(set) var channel = ""
    /// The version that runs; for the app's built-in content `builtin`, or from newer plugins the app's version.
    private(set) var version = ""
    private(set) var appVersion: String?
    private(set) var device: String?
    /// Whether the plugin reads files as they are and identifies archives by SHA-256.
    ///
    /// Older plugins (three release lines in the field) decompress every listed file by Brotli, whatever its name,
    /// and compare an archive's CRC-32.
    private(set) var isModern = true
    /// By major number, the first version that is modern.
    private static let modernPlugins = ["5.10.0", "6.25.0", "7.0.37"].compactMap {
        SemanticVersion($0)
    }

    static let builtin = "builtin"

    /// Whether the app's built-in content runs; plugins since 2026-03 name it by the app's own version.
    var runsBuiltIn: Bool {
        version == Self.builtin || appVersion.map { $0.utf8.elementsEqual(version.utf8) } ?? false
    }

    /// Reads a body strictly, but skips unknown fields.
    /// - Throws: what is wrong with it, and where.
    init(_ body: [UInt8]) throws(JSONError) {
        var reader = try JSONReader(body, limits: JSONLimits(depth: 16, byteCount: 64 * 1024))
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "app_id": app = try reader.readString()
            case "defaultChannel": channel = try Self.text(&reader) ?? ""
            case "version_name": version = try reader.readString()
            case "version_build": appVersion = try Self.text(&reader)
            case "device_id": device = try Self.text(&reader)
            case "plugin_version": isModern = Self.isModern(try Self.text(&reader) ?? "")
            default: try reader.skipValue()
            }
        }
        try reader.finish()
        if app.isEmpty { throw reader.failure("The field \"app_id\" is missing") }
        if version.isEmpty { throw reader.failure("The field \"version_name\" is missing") }
        if device?.isEmpty == true { device = nil }
        if appVersion?.isEmpty == true { appVersion = nil }
    }

    /// An unknown version counts as the newest.
    private static func isModern(_ plugin: String) -> Bool {
        guard let version = SemanticVersion(plugin, padding: true), let oldest = modernPlugins.first
        else { return true }
        let first = modernPlugins.first { $0.major == version.major }
        return version >= first ?? oldest
    }

    /// A field that may be null, which counts as missing.
    private static func text(_ reader: inout JSONReader) throws(JSONError) -> String? {
        guard try reader.peekKind() == .null else { return try reader.readString() }
        try reader.readNull()
        return nil
    }

    var deployment: String { channel.isEmpty ? app : "\(app)/\(channel)" }
}

// What Capgo announces and records of a release: its name, its archive, its files.

extension Capgo {
    private static let kinds = [Requirement.appVersionRange, Requirement.minimumAppVersion]
    private static let launchPath = "index.html"
    /// Android caches a file as its SHA-256, an underscore and its name: 65 bytes more, of at most 255.
    private static let nameByteCountMax = 190

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.warnUnless(
            release, requires: kinds, "Capgo", example: "minimumAppVersion=1.2.0")
        objections.refuseUnsayable(
            in: release, besides: kinds, "Capgo's clients say nothing but the app's version",
            "appVersionRange or minimumAppVersion")
        objections.warnIfMandatory(
            release, "Capgo's clients", "the app's directUpdate decides when an update is shown")
        guard let content = release.content, let version = release.release.version else {
            return objections
        }
        let name = version.name.description
        if SemanticVersion(name, padding: true) == nil {
            objections.refuse(
                "Capgo's clients know versions by names such as 1.2.3, and this one is \(printable(name)): add it again "
                    + "with such a --version")
        }
        let paths = content.paths
        if !paths.contains(launchPath) {
            objections.refuse(
                "Capgo's clients start with \(launchPath), and there is none at the top")
        }
        let compressed = paths.filter { $0.utf8.suffix(3).elementsEqual(".br".utf8) }
        if let first = compressed.first {
            objections.refuse(
                "Capgo's clients decompress every file whose name ends in .br and name it without: leave out "
                    + "\(printable(first))"
                    + (compressed.count > 1 ? " and \(compressed.count - 1) more" : ""))
        }
        try objections.refuseUnlessArchived { () throws(StoreError) in _ = try archive(content) }
        let long = paths.first { path in
            let name = path.utf8.split(separator: UInt8(ascii: "/")).last
            return name.map { $0.count > nameByteCountMax } ?? false
        }
        if let long {
            objections.warn(
                "Capgo's clients on Android never get single files whose names have more than \(nameByteCountMax) bytes, and "
                    + "then take nothing of the release by its manifest: give \(printable(long)) a shorter name"
            )
        }
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        guard let content = release.content else { return }
        prepared.offer.archive = try release.digest(archive(content))
    }
}
