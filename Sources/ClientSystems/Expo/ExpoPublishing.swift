import HotPush
package import Platform
import StrictJSON
import VersionTree

/// Writes what Expo's clients are told of a release: a manifest for each platform, signed as it will be sent.
package enum ExpoPublishing: ClientPublishing {
    package static var system: ClientSystem { .expo }
    /// Clients go on only to what is newer than what they run: what a withdrawal leaves must be offered anew.
    package static var ordersByTime: Bool { true }

    package static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections = ClientObjection.unlessAsked(configuration)
        let unsayable = release.unsayable(besides: ExpoRuntime.kinds)
        if !unsayable.isEmpty {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "Expo's clients say nothing but their runtime version, so nobody would get what requires "
                        + "\(unsayable.listed): require runtimeVersion alone"))
        }
        if release.release.isMandatory {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "Expo's clients know nothing mandatory: the app decides when it starts the update"
                ))
        }
        do throws(StoreError) {
            objections += try contentObjections(release)
        } catch {
            guard error.code == .unsuitableRelease else { throw error }
            objections.append(ClientObjection(refuses: true, error.message))
        }
        return objections
    }

    private static func contentObjections(
        _ release: ClientRelease
    ) throws(StoreError) -> [ClientObjection] {
        let requirements = release.release.requirements
        guard let content = release.content else {
            // Two runtime versions would be nobody's.
            _ = try ExpoRuntime.required(requirements)
            return []
        }
        let export = try ExpoExport(release, content)
        var objections: [ClientObjection] = []
        if export.config == nil {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "there is no \(ExpoExport.configPath), so the app finds nothing in Constants.expoConfig: "
                        + "npx expo config --type public --json > dist/\(ExpoExport.configPath)"))
        }
        var owners: [String: ObjectID] = [:]
        for program in export.programs {
            let version = try ExpoRuntime.version(
                for: program.platform, requirements, export.config)
            let said =
                (export.config?[program.platform]?["runtimeVersion"]
                ?? export.config?["runtimeVersion"])?.asString
            if let said, !said.utf8.elementsEqual(version.utf8) {
                objections.append(
                    ClientObjection(
                        refuses: false,
                        "\(ExpoExport.configPath) is for runtime version \(printable(said)) of \(program.platform), and the "
                            + "release requires \(printable(version)): that counts"))
            }
            for file in [program.launchFile] + program.assets.map(\.file) {
                let key = try content.facts(of: file).md5
                if owners.updateValue(file.address, forKey: key) ?? file.address != file.address {
                    throw ExpoExport.refusal(
                        "two files have the MD5 \(key), by which clients know them; one is "
                            + printable(file.path.description))
                }
            }
        }
        return objections
    }

    package static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer {
        var offer = try ClientOffer(beginning: release, after: history)
        let own = try Plan(release, configuration)
        let channel = history.channel
        var written = try own.documents(
            sequence: offer.sequence, createdAt: offer.createdAt, in: channel)
        // What is offered again before anything else was keeps the ids that clients have.
        if let first = history.offers(endingIn: release.release.target).first {
            let again = try own.documents(
                sequence: first.sequence, createdAt: first.createdAt, in: channel)
            if again.map(\.document.address) == history.offers.last?.documents.map(\.address) {
                written = again
            }
        }
        var documents: [ObjectID: [UInt8]] = [:]
        for (document, bytes) in written {
            var document = document
            document.signature = try signer?.sign(bytes).base64
            offer.documents.append(document)
            documents[document.address] = bytes
        }
        return PreparedClientOffer(offer, documents: documents)
    }

    package static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let document = offer.documents.first(where: { $0.signature != nil }),
            let bytes = try documents(document)
        else { return nil }
        return try signer.sign(bytes).base64 == document.signature
    }

    /// What the documents of a release are made from.
    struct Plan {
        private let configuration: ClientConfiguration
        private var content: (files: ClientContent, address: ObjectID, config: ExpoExport)?
        /// Of each document, in their order; empty for the order to go back, which is for all and names no file.
        private(set) var platforms = [""]
        private(set) var runtimeVersions = [""]

        init(
            _ release: ClientRelease, _ configuration: ClientConfiguration
        ) throws(StoreError) {
            self.configuration = configuration
            guard let files = release.content, let version = release.release.version else { return }
            let export = try ExpoExport(release, files)
            platforms = export.programs.map(\.platform)
            runtimeVersions = []
            for program in export.programs {
                runtimeVersions.append(
                    try ExpoRuntime.version(
                        for: program.platform, release.release.requirements, export.config))
            }
            content = (files, version.content, export)
        }

        /// The bytes of a document.
        func bytes(_ position: Int, id: String, time: String) throws(StoreError) -> [UInt8] {
            guard let content else { return ExpoDocument.rollBack(at: time) }
            return try ExpoDocument.manifest(
                content.config.programs[position], id: id, time: time,
                runtimeVersion: runtimeVersions[position], config: content.config.config,
                content.files, content.address, configuration)
        }

        func documents(
            sequence: Int64, createdAt: Int64, in channel: ChannelName
        ) throws(StoreError) -> [(document: ClientDocument, bytes: [UInt8])] {
            var documents: [(document: ClientDocument, bytes: [UInt8])] = []
            for (position, platform) in platforms.enumerated() {
                let runtimeVersion = runtimeVersions[position]
                let id =
                    if let content {
                        try ExpoDocument.id(
                            content: content.address, sequence: sequence, createdAt: createdAt,
                            platform: platform, runtimeVersion: runtimeVersion, channel)
                    } else { "" }
                let bytes = try bytes(position, id: id, time: ExpoTime.text(createdAt))
                let document = ClientDocument(
                    platform: platform, runtimeVersion: runtimeVersion, id: id,
                    address: try ObjectID(of: bytes), byteCount: Int64(bytes.count))
                documents.append((document, bytes))
            }
            return documents
        }
    }
}

extension ClientHistory {
    /// The newest offers, oldest first, as far as all of them are of one content.
    fileprivate func offers(endingIn target: OfferedRelease.Target) -> ArraySlice<ClientOffer> {
        let start = offers.lastIndex { !$0.isSameContent(as: target) }.map { $0 + 1 }
        return offers[(start ?? offers.startIndex)...]
    }
}

extension [UInt8] {
    fileprivate var base64: String { Base64.string(self) }
}
