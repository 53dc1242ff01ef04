import HotPush
import Origin
import Platform
import StrictJSON
import VersionTree

// What Expo announces and records of a release: a document for each platform, signed as it will be sent.

extension Expo {
    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.refuseUnsayable(
            in: release, besides: ExpoRuntime.kinds,
            "Expo's clients say nothing but their runtime version", "runtimeVersion alone")
        objections.warnIfMandatory(
            release, "Expo's clients", "the app decides when it starts the update")
        do throws(StoreError) {
            try object(to: release, &objections)
        } catch {
            guard error.code == .unsuitableRelease else { throw error }
            objections.refuse(error.message)
        }
        return objections
    }

    private static func object(
        to release: ClientRelease, _ all: inout [ClientObjection]
    ) throws(StoreError) {
        var objections: [ClientObjection] = []
        guard let content = release.content else {
            // Two runtime versions would fit no client.
            _ = try ExpoRuntime.required(release.release.requirements)
            return
        }
        let export = try ExpoExport(release, content)
        if export.config == nil {
            objections.warn(
                "there is no \(ExpoExport.configPath), so the app finds nothing in Constants.expoConfig: "
                    + "npx expo config --type public --json > dist/\(ExpoExport.configPath)")
        }
        var owners: [String: ObjectID] = [:]
        for program in export.programs {
            let version = program.runtimeVersion
            let said =
                (export.config?[program.platform]?["runtimeVersion"]
                ?? export.config?["runtimeVersion"])?.asString
            if let said, !said.utf8.elementsEqual(version.utf8) {
                objections.warn(
                    "\(ExpoExport.configPath) is for runtime version \(printable(said)) of \(program.platform), and the "
                        + "release requires \(printable(version)): that counts")
            }
            for file in program.files.map(\.entry) {
                let key = try content.facts(of: file).md5
                if owners.updateValue(file.address, forKey: key) ?? file.address != file.address {
                    throw ExpoExport.refusal(
                        "two files have the MD5 \(key), by which clients know them; one is "
                            + printable(file.path.description))
                }
            }
        }
        all += objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        let own = try ExpoPlan(release)
        var written = try own.documents(of: prepared.offer, in: history.channel)
        // A release that is offered twice in a row keeps the ids that clients know.
        if let first = history.offers(endingIn: release.release.version?.content).first {
            let again = try own.documents(of: first, in: history.channel)
            if again.map(\.document.address) == history.offers.last?.documents.map(\.address) {
                written = again
            }
        }
        for (var document, bytes) in written {
            if let signer { document.signature = Base64.string(try signer.sign(bytes)) }
            prepared.add(document, bytes)
        }
    }

    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let document = offer.documents.first(where: { $0.signature != nil }),
            let bytes = try documents(document)
        else { return nil }
        return try Base64.string(signer.sign(bytes)) == document.signature
    }

    static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.documents.isEmpty
    }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        let plan = try ExpoPlan(release)
        guard offer.documents.map(\.platform) == plan.platforms,
            offer.documents.map(\.runtimeVersion) == plan.runtimeVersions
        else { return "it is for other platforms or runtime versions" }
        let latest = ExpoTime.text(offer.createdAt)
        for (position, document) in offer.documents.enumerated() {
            // A missing document is reported when it is sent.
            guard let bytes = try documents(document) else { continue }
            // Bytes that are not JSON are recognized as another document below.
            let there = try? JSONValue.parse(bytes)
            let time =
                (there?["createdAt"] ?? there?["parameters"]?["commitTime"])?.asString ?? ""
            // A release that is offered twice in a row keeps the time of its first offer.
            guard time.utf8.count == latest.utf8.count, time <= latest else {
                return "a document of it says that it is of another time"
            }
            let own = try plan.bytes(position, id: document.id, time: time)
            guard own == bytes else { return "a document of it names other files or URLs" }
        }
        return nil
    }
}

extension ClientHistory {
    /// The newest offers, oldest first, as far as all of them are of one content.
    fileprivate func offers(endingIn content: ObjectID?) -> ArraySlice<ClientOffer> {
        let start = offers.lastIndex { $0.content != content }.map { $0 + 1 }
        return offers[(start ?? offers.startIndex)...]
    }
}
