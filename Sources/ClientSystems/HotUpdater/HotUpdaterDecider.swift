import HotPush
package import Platform
import VersionTree

/// Answers hot-updater's clients, which are given `<base URL>/for/hot-updater`.
package enum HotUpdaterDecider: ClientDecider {
    package static let system = ClientSystem.hotUpdater

    private static let prefix = "/for/hot-updater/"

    package static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard let segments = request.segments(below: prefix) else { return nil }
        guard request.asksForContent else { return .wrongMethod("GET") }
        guard case .names(let names) = segments else {
            return HotUpdaterAnswer.malformed("The path is no text in percent-encoding.")
        }
        switch names.first {
        case "app-version", "fingerprint":
            guard let check = HotUpdaterCheck(names) else { break }
            return try answer(check, request, configuration, origin)
        case "archives":
            guard let name = request.archiveName(below: prefix + "archives/") else { break }
            guard let offer = try offer(name, configuration, origin) else { break }
            try origin.willFetch(composing: true)
            guard let bundle = try bundle(of: offer, origin) else { break }
            return .immutable("application/zip", .archive(try bundle.archive()))
        case "manifests":
            guard names.count == 2, let name = ArchiveName(names[1], suffix: "json") else { break }
            guard let offer = try offer(name, configuration, origin),
                let document = offer.documents.first
            else { break }
            return .immutable("application/json", .document(document, system))
        default: break
        }
        return HotUpdaterAnswer.absent("There is nothing here.")
    }

    // MARK: Checks

    private static func answer(
        _ check: HotUpdaterCheck, _ request: ClientRequest, _ configuration: ClientConfiguration,
        _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer {
        guard check.platform == "ios" || check.platform == "android" else {
            return HotUpdaterAnswer.malformed("The platform is ios or android.")
        }
        // A channel that is not there says nothing: who takes it for empty sends every device back.
        guard let name = configuration.deployments[check.deployment],
            let channel = try origin.channel(name, for: system)
        else { return HotUpdaterAnswer.absent("There is no such channel for this platform.") }
        let live: ClientChannel.Live
        let isUpdate: Bool
        switch HotUpdaterDecision.decide(check, in: channel) {
        case .nothing: return HotUpdaterAnswer.upToDate(request)
        case .goBackToBuiltIn: return HotUpdaterAnswer.builtIn
        case .update(let newer): (live, isUpdate) = (newer, true)
        case .goBack(let older): (live, isUpdate) = (older, false)
        }
        // What the origin has lost is not offered: the client keeps what it has.
        guard let version = live.offer.version, let id = live.offer.id,
            let name = try archiveName(of: live.offer),
            let bundle = try bundle(of: live.offer, origin)
        else { return HotUpdaterAnswer.upToDate(request) }
        var answer = HotUpdaterAnswer(
            id: id, isForced: !isUpdate || live.release.isMandatory,
            message: version.name.description, isUpdate: isUpdate,
            fileURL: configuration.baseURL + prefix + "archives/" + name.description,
            fileHash: try hash(live.offer, "archive", live.offer.archive?.sha256),
            manifestURL: configuration.baseURL + prefix + "manifests/" + name.text(suffix: "json"),
            manifestHash: try hash(live.offer, "manifest", live.offer.manifestDigest))
        guard let held = channel.live.first(where: { $0.offer.id == check.current }),
            let base = try origin.content(of: held.offer), let from = held.offer.version?.content
        else { return .json(answer.bytes) }
        let short = String(decoding: answer.bytes, as: UTF8.self)
        func write() -> [UInt8] {
            answer.changes = bundle.changes(from: base).map { entry in
                (entry, configuration.baseURL + "/" + OriginLayout.object(entry.address))
            }
            return answer.bytes
        }
        guard bundle.content.isLong || base.isLong else { return .json(write()) }
        return .json(
            try origin.encoded(
                named: "hot-updater \(configuration.baseURL) \(version.content) \(from) \(short)"
            ) { () throws(StoreError) in write() })
    }

    /// How a client checks an archive or a manifest: by the signature of its digest, if there is one.
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

    // MARK: Archives and manifests

    private static func bundle(
        of offer: ClientOffer, _ origin: some ClientOrigin
    ) throws(StoreError) -> HotUpdaterPackage? {
        guard let document = offer.documents.first, let content = try origin.content(of: offer),
            let manifest = try origin.bytes(of: document, for: system)
        else { return nil }
        return HotUpdaterPackage(content, manifest: manifest)
    }

    private static func archiveName(of offer: ClientOffer) throws(StoreError) -> ArchiveName? {
        guard let version = offer.version, let id = offer.id else { return nil }
        var name = ArchiveName(version.content, details: [id])
        if let signature = offer.signatures["manifest"] {
            name.details.append(try ArchiveName.tag(of: signature))
        }
        return name
    }

    /// The offer that a name stands for, if some channel for clients has it.
    private static func offer(
        _ name: ArchiveName, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientOffer? {
        for channelName in Set(configuration.deployments.values).sorted() {
            guard let channel = try origin.channel(channelName, for: system) else { continue }
            for live in channel.live where live.offer.version?.content == name.content {
                if try archiveName(of: live.offer) == name { return live.offer }
            }
        }
        return nil
    }
}
