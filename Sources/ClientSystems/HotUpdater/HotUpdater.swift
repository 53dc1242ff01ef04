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
            case "patches" where names.count == 2: try patch(names[1], inquiry)
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
        func write(_ changes: [HotUpdaterChange]?) -> [UInt8] {
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
                    for change in changes { change.write(to: &writer, check, inquiry) }
                }
            }
        }
        let short = write(nil)
        guard let held = channel.live.first(where: { $0.offer.id == check.current }),
            let content = try inquiry.origin.content(of: held.offer),
            let from = held.offer.version?.content
        else { return .json(short) }
        let patches =
            try inquiry.configuration.deployments[check.deployment].map {
                (channel) throws(StoreError) in try inquiry.origin.patches(of: channel)
            } ?? PatchTable(nil)
        return try inquiry.json(
            isLong: bundle.content.isLong || content.isLong,
            named:
                "hot-updater \(base) \(version.content) \(from) \(check.current) \(patches.number) \(String(decoding: short, as: UTF8.self))"
        ) { write(bundle.changes(from: content, patches)) }
    }

    /// A patch that an answer has named; `nil` if no channel has it.
    private static func patch(
        _ text: String, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ClientAnswer? {
        guard let address = ObjectID(text) else { return nil }
        for name in Set(inquiry.configuration.deployments.values).sorted() {
            guard let patch = try inquiry.origin.patches(of: name).patch(at: address) else {
                continue
            }
            try inquiry.origin.willFetch(composing: false)
            guard let bytes = try inquiry.origin.bytes(of: patch, making: nil) else { continue }
            return .immutable("application/octet-stream", .bytes(bytes))
        }
        return nil
    }

    static func patchURL(_ patch: ClientPatch, _ configuration: ClientConfiguration) -> String {
        "\(configuration.baseURL)\(prefix)patches/\(patch.address)"
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

// What hot-updater announces and records of a release: an id, the digests of archive and manifest, and their
// signatures.

extension HotUpdater {
    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections = objections(to: release.release)
        objections.warnUnlessAsked(release.configuration)
        objections.warnUnless(
            release, requires: HotUpdaterTerms.versionKinds + [Requirement.fingerprint],
            "hot-updater", example: "appVersionRange=^1.2")
        guard let content = release.content else { return objections }
        let names = content.paths
        if names.contains(HotUpdaterPackage.manifestName) {
            objections.refuse(
                "it has a file manifest.json, which is made for hot-updater's clients when it is published: remove "
                    + "the file")
        }
        for platform in release.configuration.platforms
        where !names.contains("index.\(platform).bundle") {
            // React Native's name for it before 0.60, on iOS only.
            if platform == "ios", names.contains("main.jsbundle") { continue }
            objections.warn(
                "it has no file index.\(platform).bundle, which hot-updater's clients on \(platform) start"
            )
        }
        // hot-updater's ZipArchiveExtractor trims names as it unpacks.
        if let name = names.first(where: {
            $0.first?.isWhitespace == true || $0.last?.isWhitespace == true
        }) {
            objections.warn(
                "hot-updater's clients on iOS drop the white space at the ends of \(printable(name))"
            )
        }
        try objections.refuseUnlessArchived { () throws(StoreError) in
            let manifest = HotUpdaterPackage.manifest(of: content, id: HotUpdaterCheck.builtIn)
            _ = try HotUpdaterPackage(content: content, manifest: manifest).archive()
        }
        objections.warn(ofExecutablesIn: content.manifest, "hot-updater's clients")
        return objections
    }

    private static func objections(to release: ChannelRelease) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        var isPartial = (release.rollout?.perMille ?? 1000) < 1000
        for requirement in release.requirements {
            if let sentence = HotUpdaterTerms.objection(to: requirement) {
                objections.refuse(sentence)
            }
        }
        let kinds = Set(release.requirements.map(\.kind))
        if kinds.contains(Requirement.fingerprint),
            !kinds.isDisjoint(with: HotUpdaterTerms.versionKinds)
        {
            objections.refuse(
                "it asks for a fingerprint and for versions of the app, and hot-updater's clients say only one of "
                    + "them: leave one of the requirements out")
        }
        if kinds.contains(Requirement.group) {
            if isPartial {
                objections.refuse(
                    "it is for a part of a group, and hot-updater knows a device either by its number or by its "
                        + "group: leave the roll-out or the group out")
            }
            isPartial = true
        }
        if isPartial {
            objections.warn(
                "a device whose bundle is taken back goes to the newest older one, by hot-updater's rule also to "
                    + "this one if its roll-out or group does not include the device")
        }
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        guard let content = release.content, let version = prepared.offer.version else { return }
        // Clients order bundles by id and avoid those that crashed, so the same files are the same bundle.
        let id: String
        if let known = history.firstOffer(of: version.content)?.id {
            id = known
        } else {
            let deployments = release.configuration.deployments.filter {
                $0.value == history.channel
            }
            id = try self.id(
                prepared.offer.firstOfferedAt, version.content, Array(deployments.keys))
        }
        var signatures: [ObjectID: String] = [:]
        if let signer {
            for entry in content.manifest.entries where signatures[entry.address] == nil {
                signatures[entry.address] = Base64.string(try signer.sign(entry.address.bytes))
            }
        }
        let manifest = HotUpdaterPackage.manifest(of: content, id: id, signatures: signatures)
        let document = try ClientDocument(of: manifest, id: id)
        let archive = try release.digest(
            HotUpdaterPackage(content: content, manifest: manifest).archive())
        prepared.offer.id = id
        prepared.offer.manifestDigest = document.address
        prepared.offer.archive = archive
        prepared.add(document, manifest)
        if let signer {
            for (subject, digest) in [("manifest", document.address), ("archive", archive.sha256)] {
                prepared.offer.signatures[subject] = Base64.string(try signer.sign(digest.bytes))
            }
        }
    }

    /// Makes the id of a bundle: a UUID of version 7 (RFC 9562, section 5.7), so that a newer bundle has a larger
    /// one.
    ///
    /// The same parameters give the same id.
    /// - Parameters:
    ///   - milliseconds: when the channel first offered the content, since 1970.
    ///   - deployments: the platforms and channels that it is for, in any order.
    static func id(
        _ milliseconds: Int64, _ content: ObjectID, _ deployments: [String]
    ) throws(StoreError) -> String {
        var message = content.bytes
        for deployment in deployments.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            message += [0] + Array(deployment.utf8)
        }
        let digest = try Digester.digest(.sha256, of: message)
        let time = UInt64(clamping: milliseconds)
        var bytes = (0..<6).map { UInt8(truncatingIfNeeded: time >> (40 - 8 * UInt64($0))) }
        bytes += digest.prefix(10)
        bytes[6] = bytes[6] & 0x0f | 0x70
        bytes[8] = bytes[8] & 0x3f | 0x80
        return ClientDocument.uuid(bytes)
    }

    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let digest = offer.manifestDigest, let signature = offer.signatures["manifest"]
        else { return nil }
        return try Base64.string(signer.sign(digest.bytes)) == signature
    }

    static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.id == nil || offer.documents.isEmpty
    }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        guard let id = offer.id, let document = offer.documents.first, offer.documents.count == 1,
            document.id == id, document.address == offer.manifestDigest
        else { return "it names another manifest than its own" }
        // A missing manifest is reported when it is sent.
        guard let bytes = try documents(document) else { return nil }
        // The manifest contains the signatures of the files, which some clients verify.
        var signatures: [ObjectID: String] = [:]
        // Bytes that are not JSON are recognized as another manifest below.
        let assets = (try? JSONValue.parse(bytes))?["assets"]?.asObject ?? []
        for asset in assets {
            guard let hash = asset.value["fileHash"]?.asString, let address = ObjectID(hash),
                let signature = asset.value["signature"]?.asString
            else { continue }
            signatures[address] = signature
        }
        let own = HotUpdaterPackage.manifest(of: content, id: id, signatures: signatures)
        return own == bytes ? nil : "its manifest lists other files"
    }
}

extension ClientConfiguration {
    fileprivate var platforms: [String] {
        Set(deployments.keys.compactMap { $0.split(separator: "/").first.map(String.init) })
            .sorted()
    }
}
