import HotPush
import Platform
import StrictJSON
import VersionTree

/// The feed of hot-updater's clients, which are given `<base URL>/for/hot-updater`.
enum HotUpdater: ClientFeed {
    static let system = ClientSystem.hotUpdater

    private static let prefix = "/for/hot-updater/"

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard let names = inquiry.request.segments(below: prefix) else { return nil }
        guard inquiry.request.asksForContent else { return .wrongMethod("GET") }
        let found: ClientAnswer? =
            switch names.first {
            case nil: refusal(400, "The path is no text in percent-encoding.")
            case "app-version", "fingerprint":
                try HotUpdaterCheck(names).map { (check) throws(StoreError) in
                    try answer(check, inquiry)
                }
            case "archives":
                try inquiry.archive(below: prefix + "archives/") {
                    (name, channel) throws(StoreError) in
                    guard let offer = try offer(name, in: channel, inquiry.configuration)
                    else { return nil }
                    try inquiry.origin.willFetch(composing: true)
                    return try bundle(of: offer, inquiry)?.archive()
                }
            case "manifests" where names.count == 2:
                try manifest(ArchiveName(names[1], suffix: "json"), inquiry)
            default: nil
            }
        return found ?? refusal(404, "There is nothing here.")
    }

    private static func refusal(_ status: Int, _ sentence: String) -> ClientAnswer {
        .json(status: status) { $0.member("error", sentence) }
    }

    // MARK: Checks

    private static func answer(
        _ check: HotUpdaterCheck, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ClientAnswer {
        guard check.platform == "ios" || check.platform == "android" else {
            return refusal(400, "The platform is ios or android.")
        }
        // Not an empty answer: clients would take it as an order to roll back.
        guard let channel = try inquiry.channel(of: check.deployment) else {
            return refusal(404, "There is no such channel for this platform.")
        }
        switch HotUpdaterDecision.decide(check, in: channel) {
        case .nothing: return upToDate(inquiry.request)
        case .goBackToBuiltIn: return builtIn
        case .update(let newer):
            return try answer(check, newer, isUpdate: true, channel, inquiry)
        case .goBack(let older):
            return try answer(check, older, isUpdate: false, channel, inquiry)
        }
    }

    /// Names a bundle, and the files to fetch for a client whose bundle the channel offers; others take the archive.
    private static func answer(
        _ check: HotUpdaterCheck, _ live: ClientChannel.Live, isUpdate: Bool,
        _ channel: ClientChannel, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ClientAnswer {
        let offer = live.offer
        // If the release was withdrawn meanwhile, the client keeps what it has.
        guard let version = offer.version, let id = offer.id,
            let name = try archiveName(of: offer, inquiry.configuration),
            let bundle = try bundle(of: offer, inquiry)
        else { return upToDate(inquiry.request) }
        let base = inquiry.configuration.baseURL
        let archiveHash = try hash(offer, "archive", offer.archive?.sha256)
        let manifestHash = try hash(offer, "manifest", offer.manifestDigest)
        func write(_ changes: [Manifest.Entry]?) -> [UInt8] {
            JSONWriter.document { writer in
                writer.member("id", id)
                writer.member("shouldForceUpdate", !isUpdate || live.release.isMandatory)
                writer.member("message", version.name.description)
                writer.member("status", isUpdate ? "UPDATE" : "ROLLBACK")
                writer.member("fileUrl", "\(base)\(prefix)archives/\(name)")
                writer.member("fileHash", archiveHash)
                writer.member(
                    "manifestUrl", "\(base)\(prefix)manifests/\(name.text(suffix: "json"))")
                writer.member("manifestFileHash", manifestHash)
                guard let changes else { return }
                writer.member("changedAssets") { writer in
                    for entry in changes {
                        writer.member(entry.path.description) { writer in
                            writer.member("fileHash", entry.address.description)
                            writer.member("file") {
                                $0.member("url", inquiry.url(of: entry.address))
                            }
                        }
                    }
                }
            }
        }
        let short = write(nil)
        guard let held = channel.live.first(where: { $0.offer.id == check.current }),
            let content = try inquiry.origin.content(of: held.offer),
            let from = held.offer.version?.content
        else { return .json(short) }
        return try inquiry.json(
            isLong: bundle.content.isLong || content.isLong,
            named:
                "hot-updater \(base) \(version.content) \(from) \(String(decoding: short, as: UTF8.self))"
        ) { write(bundle.changes(from: content)) }
    }

    /// The text by which a client checks an archive or a manifest: the signature of its digest if there is one.
    private static func hash(
        _ offer: ClientOffer, _ subject: String, _ digest: ObjectID?
    ) throws(StoreError) -> String {
        if let signature = offer.signatures[subject] { return "sig:" + signature }
        guard let digest else {
            throw StoreError(
                .badPointer,
                "the history of hot-updater does not say the digest of the \(subject) of \(offer.id ?? "a bundle"): "
                    + "publish the version again")
        }
        return digest.description
    }

    private static let builtIn = ClientAnswer.json { writer in
        writer.member("id", HotUpdaterCheck.builtIn)
        writer.member("message", String?.none)
        writer.member("shouldForceUpdate", true)
        writer.member("status", "ROLLBACK")
        writer.member("fileUrl", String?.none)
        writer.member("fileHash", String?.none)
    }

    /// Tells a device that it runs the right bundle: `null` for clients before 0.31.0, which know nothing else.
    private static func upToDate(_ request: ClientRequest) -> ClientAnswer {
        let version = request.field("hot-updater-sdk-version").flatMap {
            SemanticVersion(valid: $0)
        }
        guard let version, version >= SemanticVersion(0, 31, 0) else {
            return .json(Array("null".utf8))
        }
        return .json { $0.member("status", "UP_TO_DATE") }
    }

    // MARK: Archives and manifests

    private static func manifest(
        _ name: ArchiveName?, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ClientAnswer? {
        guard let name,
            let offer = try inquiry.first({ (channel) throws(StoreError) in
                try offer(name, in: channel, inquiry.configuration)
            }), let document = offer.documents.first
        else { return nil }
        return .immutable("application/json", .document(document, system))
    }

    private static func bundle(
        of offer: ClientOffer, _ inquiry: ClientInquiry
    ) throws(StoreError) -> HotUpdaterPackage? {
        guard let document = offer.documents.first,
            let content = try inquiry.origin.content(of: offer)
        else { return nil }
        guard let manifest = try inquiry.origin.bytes(of: document, for: system) else {
            throw document.loss(system)
        }
        return HotUpdaterPackage(content: content, manifest: manifest)
    }

    static func archiveName(
        of offer: ClientOffer, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ArchiveName? {
        guard let version = offer.version, let id = offer.id else { return nil }
        return try ArchiveName(
            version.content, details: [id], signature: offer.signatures["manifest"])
    }
}
