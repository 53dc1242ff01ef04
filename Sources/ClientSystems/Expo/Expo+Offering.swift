import CASStore
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

/// A file of an update under its own URL, with its media type, and compressed for clients that accept it.
enum ExpoAsset {
    private static let prefix = "/for/expo/assets/"
    static let launchEnding = "bundle"
    private static let missing = ClientAnswer.notFound("There is no such asset.\n")

    static func path(_ address: ObjectID, of content: ObjectID, ending: String) -> String {
        let suffix = ending.isEmpty ? "" : "." + PercentEncoding.unreserved(ending)
        return "\(prefix)\(content)/\(address)\(suffix)"
    }

    static func contentType(ending: String) -> String {
        if ending == launchEnding { return "application/javascript" }
        return (MediaType.known("a.\(ending)".utf8) ?? .unknown).name
    }

    /// Answers a request for a file; `nil` if the path is not a file's.
    ///
    /// Files of older manifests are answered as long as the origin holds them: clients may ask at any time.
    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard let names = inquiry.request.segments(below: prefix) else { return nil }
        guard inquiry.request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard names.count == 2, let contentAddress = ObjectID(names[0]) else { return missing }
        let parts = names[1].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = ObjectID(String(parts[0])),
            let offer = try inquiry.first({ $0.offer(of: contentAddress, isLive: false) })
        else { return missing }
        try inquiry.origin.willFetch(composing: false)
        guard let facts = try inquiry.origin.content(of: offer)?.facts[address] else {
            return missing
        }
        let ending = parts.count > 1 ? String(parts[1]) : ""
        if let patch = try ExpoPatch.answer(inquiry, to: facts, of: offer) { return patch }
        var answer = ClientAnswer.immutable(contentType(ending: ending), .bytes([]))
        // The body depends on these, so caches must keep each.
        answer.set(
            "vary",
            ending == launchEnding ? "accept-encoding, \(ExpoPatch.vary)" : "accept-encoding")
        // Some clients send the ids of two updates as tags.
        answer.isUnconditional = inquiry.request.hasBareTag
        guard facts.byteCount > 0 else { return answer }
        let encodings = Acceptance(inquiry.request.field("accept-encoding") ?? "")
        if let deflatedCopy = facts.deflatedCopy, encodings.takes(["gzip", "*"]) {
            answer.set("content-encoding", "gzip")
            answer.body = .gzip(
                deflatedCopy: deflatedCopy.address, deflatedByteCount: deflatedCopy.byteCount,
                crc32: facts.crc32,
                byteCount: facts.byteCount)
        } else {
            answer.body = .object(address, byteCount: facts.byteCount)
        }
        return answer
    }
}

/// The documents of a release that are signed for Expo's clients: a manifest for each platform, or the order to roll
/// back.
struct ExpoPlan {
    private let configuration: ClientConfiguration
    private var content: (files: ClientContent, address: ObjectID, export: ExpoExport)?

    /// - Throws: `.unsuitableRelease` for content that Expo's tools did not export.
    init(_ release: ClientRelease) throws(StoreError) {
        configuration = release.configuration
        guard let files = release.content, let version = release.release.version else { return }
        content = (files, version.content, try ExpoExport(release, files))
    }

    /// The platform of each document; empty for the order to roll back, which is for all.
    var platforms: [String] { content?.export.programs.map(\.platform) ?? [""] }
    /// The runtime version of each document, likewise.
    var runtimeVersions: [String] { content?.export.programs.map(\.runtimeVersion) ?? [""] }

    /// The documents, with the ids and times of an offer.
    ///
    /// Each offer has a new id: clients take the newest update they have seen and remember the time of each id.
    func documents(
        of offer: ClientOffer, in channel: ChannelName
    ) throws(StoreError) -> [(document: ClientDocument, bytes: [UInt8])] {
        var documents: [(document: ClientDocument, bytes: [UInt8])] = []
        let versions = runtimeVersions
        for (position, platform) in platforms.enumerated() {
            var id = ""
            if let content {
                // Only the runtime version may contain a line feed, and it comes last, so the text is unambiguous.
                let text =
                    "castree-expo 1\n\(content.address)\n\(offer.sequence)\n\(offer.createdAt)\n"
                    + "\(platform)\n\(channel)\n\(versions[position])"
                id = ClientDocument.uuid(try ObjectID(of: Array(text.utf8)).bytes)
            }
            let bytes = try bytes(position, id: id, time: ExpoTime.text(offer.createdAt))
            let document = try ClientDocument(
                of: bytes, id: id, platform: platform, runtimeVersion: versions[position])
            documents.append((document, bytes))
        }
        return documents
    }

    /// - Parameter time: as ``ExpoTime`` spells it.
    func bytes(_ position: Int, id: String, time: String) throws(StoreError) -> [UInt8] {
        guard let content else {
            return JSONWriter.document { writer in
                writer.member("type", "rollBackToEmbedded")
                writer.member("parameters") { $0.member("commitTime", time) }
            }
        }
        let program = content.export.programs[position]
        // Clients keep one file per key, so one content is one asset, however many names it has.
        var assets: [(file: ExpoExport.Asset, key: String)] = []
        var seen: Set<String> = []
        for file in program.files {
            // Keyed as the app's own assets are, so that clients do not fetch what was shipped with the app.
            let key = try content.files.facts(of: file.entry).md5
            if seen.insert(key).inserted { assets.append((file, key)) }
        }
        func write(_ file: ExpoExport.Asset, _ key: String, to writer: inout JSONWriter) {
            let address = file.entry.address
            let path = ExpoAsset.path(address, of: content.address, ending: file.ending)
            writer.member("hash", Base64.urlString(address.bytes))
            writer.member("key", key)
            writer.member("contentType", ExpoAsset.contentType(ending: file.ending))
            // Also for a file without an ending: where it is missing, clients on Android skip the asset, and those on
            // iOS fail.
            writer.member("fileExtension", ".\(file.ending)")
            writer.member("url", configuration.baseURL + path)
        }
        return JSONWriter.document { writer in
            writer.member("id", id)
            writer.member("createdAt", time)
            writer.member("runtimeVersion", program.runtimeVersion)
            writer.member("launchAsset") { write(assets[0].file, assets[0].key, to: &$0) }
            writer.member("assets", assets.dropFirst()) { write($1.file, $1.key, to: &$0) }
            writer.member("metadata") { _ in }
            writer.member("extra") { writer in
                guard let config = content.export.config else { return }
                writer.key("expoClient")
                writer.value(config)
            }
        }
    }
}

/// Times in Expo's documents: `2026-11-22T22:02:19.000Z` (ISO 8601).
enum ExpoTime {
    static func text(_ milliseconds: Int64) -> String {
        let rest = (milliseconds % 1000 + 1000) % 1000
        let seconds = CalendarTime.text((milliseconds - rest) / 1000)
        return "\(seconds).\(String(1000 + rest).dropFirst())Z"
    }
}
