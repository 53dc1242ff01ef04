import HotPush
import Platform
import StrictJSON
import VersionTree

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
