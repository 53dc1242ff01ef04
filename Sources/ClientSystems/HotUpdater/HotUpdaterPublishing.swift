import Archives
import HotPush
package import Platform
import VersionTree

/// Makes the offers of hot-updater: an id, the digests of archive and manifest, and their signatures.
package enum HotUpdaterPublishing: ClientPublishing {
    package static let system = ClientSystem.hotUpdater

    package static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections = objections(to: release.release)
        objections += ClientObjection.unlessAsked(configuration)
        objections += ClientObjection.unlessRequiring(
            [Requirement.appVersionRange, Requirement.minimumAppVersion, Requirement.fingerprint],
            release, "hot-updater", example: "appVersionRange=^1.2")
        guard let content = release.content else { return objections }
        let names = content.manifest.entries.map(\.path.description)
        if names.contains(HotUpdaterPackage.manifestName) {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "it has a file manifest.json, which is made for hot-updater's clients when it is published: remove "
                        + "the file"))
        }
        for platform in configuration.platforms where !names.contains("index.\(platform).bundle") {
            // The name that React Native gave it before 0.60, on iOS only.
            if platform == "ios", names.contains("main.jsbundle") { continue }
            objections.append(
                ClientObjection(
                    refuses: false,
                    "it has no file index.\(platform).bundle, which hot-updater's clients on \(platform) start"
                ))
        }
        // Their ZipArchiveExtractor trims what it unpacks.
        if let name = names.first(where: {
            $0.first?.isWhitespace == true || $0.last?.isWhitespace == true
        }) {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "hot-updater's clients on iOS drop the white space at the ends of \(printable(name))"
                ))
        }
        let bundle = HotUpdaterPackage(
            content,
            manifest: HotUpdaterPackage.manifest(of: content, id: HotUpdaterCheck.builtIn))
        objections += try ClientObjection.unlessArchived { () throws(StoreError) in
            _ = try bundle.archive()
        }
        if let objection = ClientObjection.ofExecutables(
            content.manifest, "hot-updater's clients")
        {
            objections.append(objection)
        }
        return objections
    }

    private static func objections(to release: OfferedRelease) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        var isPartial = (release.rollout?.perMille ?? 1000) < 1000
        for requirement in release.requirements {
            if let sentence = HotUpdaterTerms.objection(to: requirement) {
                objections.append(ClientObjection(refuses: true, sentence))
            }
        }
        let kinds = Set(release.requirements.map(\.kind))
        if kinds.contains(Requirement.fingerprint),
            !kinds.isDisjoint(with: [Requirement.appVersionRange, Requirement.minimumAppVersion])
        {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "it asks for a fingerprint and for versions of the app, and hot-updater's clients say only one of "
                        + "them: leave one of the requirements out"))
        }
        if kinds.contains(Requirement.group) {
            if isPartial {
                objections.append(
                    ClientObjection(
                        refuses: true,
                        "it is for a part of a group, and hot-updater knows a device either by its number or by its "
                            + "group: leave the roll-out or the group out"))
            }
            isPartial = true
        }
        if isPartial {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "a device whose bundle is taken back goes to the newest older one, by hot-updater's rule also to "
                        + "this one if its roll-out or group does not include the device"))
        }
        return objections
    }

    package static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer {
        var offer = try ClientOffer(beginning: release, after: history)
        guard let content = release.content, let version = offer.version else {
            return PreparedClientOffer(offer)
        }
        // Clients order bundles by their ids and keep away from those that crashed: the same files are the same bundle.
        let id: String
        if let known = history.firstOffer(of: release.release.target)?.id {
            id = known
        } else {
            let deployments = configuration.deployments.filter { $0.value == history.channel }
            id = try HotUpdaterID.make(
                offer.firstOfferedAt, version.content, Array(deployments.keys))
        }
        offer.id = id
        var signatures: [ObjectID: String] = [:]
        if let signer {
            for entry in content.manifest.entries where signatures[entry.address] == nil {
                signatures[entry.address] = Base64.string(try signer.sign(entry.address.bytes))
            }
        }
        let manifest = HotUpdaterPackage.manifest(of: content, id: id, signatures: signatures)
        let digest = try ObjectID(of: manifest)
        let archive = try release.digest(HotUpdaterPackage(content, manifest: manifest).archive())
        offer.manifestDigest = digest
        offer.archive = archive
        offer.documents = [
            ClientDocument(
                platform: "", runtimeVersion: "", id: id, address: digest,
                byteCount: Int64(manifest.count))
        ]
        if let signer {
            offer.signatures["manifest"] = Base64.string(try signer.sign(digest.bytes))
            offer.signatures["archive"] = Base64.string(try signer.sign(archive.sha256.bytes))
        }
        return PreparedClientOffer(offer, documents: [digest: manifest])
    }

    package static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let digest = offer.manifestDigest, let signature = offer.signatures["manifest"]
        else { return nil }
        return try Base64.string(signer.sign(digest.bytes)) == signature
    }
}

extension ClientConfiguration {
    /// The platforms of hot-updater's deployments, sorted.
    fileprivate var platforms: [String] {
        let platforms = deployments.keys.compactMap { name in
            name.utf8.split(separator: UInt8(ascii: "/")).first.map { String(Substring($0)) }
        }
        return Set(platforms).sorted()
    }
}
