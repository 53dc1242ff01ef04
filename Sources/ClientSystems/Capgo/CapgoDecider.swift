import Archives
import HotPush
package import Platform
import StrictJSON
import VersionTree

/// Answers Capgo's clients (capacitor-updater): a POST with what runs, answered with what should.
package enum CapgoDecider: ClientDecider {
    package static var system: ClientSystem { .capgo }

    private static let prefix = "/for/capgo/"
    private static let archives = prefix + "archives/"
    private static let builtin = CapgoRequest.builtin

    package static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        switch request.path {
        case prefix + "updates":
            guard request.method == "POST" else { return .wrongMethod("POST") }
            return try update(request, configuration, origin)
        case prefix + "stats":
            guard request.method == "POST" else { return .wrongMethod("POST") }
            // Nothing is counted: what a device says of itself is not kept.
            return .json { $0.member("status", "ok") }
        case prefix + "channel_self":
            return error(
                "self_assignment_disabled",
                "Devices cannot change their channel here: it is built into the app (defaultChannel).",
                kind: "blocked")
        default: return try archive(request, configuration, origin)
        }
    }

    private static func update(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer {
        let question: CapgoRequest
        do throws(JSONError) {
            question = try CapgoRequest(request.body)
        } catch let problem {
            return error(
                "invalid_request", "The body cannot be read: \(problem.message)", status: 400)
        }
        guard let name = configuration.deployments[question.deployment],
            let channel = try origin.channel(name, for: .capgo)
        else {
            return error(
                "app_not_found", "There is no app or channel of that name here.", status: 404)
        }
        var app = AppTraits()
        app.version = question.appVersion
        for live in channel.live {
            guard app.objections(to: live.release.requirements).isEmpty else { continue }
            let wanted = live.offer.version?.name.description ?? builtin
            // What a device has is not taken back by a roll-out that does not choose it.
            let isHeld =
                live.offer.version == nil
                ? question.runsBuiltIn : wanted.utf8.elementsEqual(question.version.utf8)
            if isHeld { break }
            guard try live.release.rollout?.includes(question.device) ?? true else { continue }
            return try tell(
                live.offer, wanted, isModern: question.isModern, configuration, origin)
        }
        return error("no_new_version_available", "No new version available", kind: "up_to_date")
    }

    private static func tell(
        _ offer: ClientOffer, _ name: String, isModern: Bool,
        _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer {
        guard let version = offer.version else { return .json { $0.member("version", name) } }
        guard let archive = offer.archive, let content = try origin.content(of: offer) else {
            throw StoreError(
                .damagedOrigin,
                "the origin has lost what Capgo's clients are offered as \(name); publish it again",
                object: version.content)
        }
        func write() -> [UInt8] {
            answer(
                name, url: "\(configuration.baseURL)\(archives)\(ArchiveName(version.content))",
                archive.sha256, isModern ? content : nil, configuration)
        }
        guard isModern, content.isLong else { return .json(write()) }
        return .json(
            try origin.encoded(
                named: "capgo \(configuration.baseURL) \(name) \(version.content) \(archive.sha256)"
            ) { () throws(StoreError) in write() })
    }

    /// - Parameter content: what single files are fetched of; `nil` for plugins that take archives alone.
    private static func answer(
        _ name: String, url: String, _ digest: ObjectID, _ content: ClientContent?,
        _ configuration: ClientConfiguration
    ) -> [UInt8] {
        JSONWriter.document { writer in
            writer.member("version", name)
            writer.member("url", url)
            // Older plugins take an empty one for none, and each part of an archive has a checksum of its own.
            writer.member("checksum", content == nil ? "" : digest.description)
            writer.member("session_key", "")
            guard let content else { return }
            writer.member("manifest", content.manifest.entries) { writer, entry in
                writer.member("file_name", entry.path.description)
                writer.member("file_hash", entry.address.description)
                writer.member("download_url", configuration.objectURL(entry.address))
            }
        }
    }

    private static func archive(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard request.path.utf8.starts(with: archives.utf8) else { return nil }
        guard request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard let name = request.archiveName(below: archives), name == ArchiveName(name.content),
            let offer = try origin.offer(of: name.content, isLive: true, configuration)
        else { return .notFound("There is no such archive.\n") }
        try origin.willFetch(composing: true)
        guard let content = try origin.content(of: offer) else {
            return .notFound("There is no such archive.\n")
        }
        return .immutable("application/zip", .archive(try CapgoPublishing.archive(content)))
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
