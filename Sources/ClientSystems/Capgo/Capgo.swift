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
