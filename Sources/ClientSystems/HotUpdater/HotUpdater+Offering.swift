import HotPush
import Platform
import StrictJSON
import VersionTree

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
