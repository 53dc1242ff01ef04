import HotPush
import Platform
import StrictJSON
import VersionTree

/// A document that Expo's clients are sent as it was signed: a manifest, or the order to go back.
enum ExpoDocument {
    /// The manifest of an update.
    /// - Parameter time: as ``ExpoTime`` spells it.
    static func manifest(
        _ program: ExpoExport.Program, id: String, time: String, runtimeVersion: String,
        config: JSONValue?, _ content: ClientContent, _ contentAddress: ObjectID,
        _ configuration: ClientConfiguration
    ) throws(StoreError) -> [UInt8] {
        let launch = try Entry(
            program.launchFile, ending: ExpoAsset.launchEnding, content, contentAddress,
            configuration)
        var assets: [Entry] = []
        // Clients keep one file for each key: one content is one asset, however many names it has.
        var seen = Set([launch.key])
        for asset in program.assets {
            let entry = try Entry(
                asset.file, ending: asset.ending, content, contentAddress, configuration)
            if seen.insert(entry.key).inserted { assets.append(entry) }
        }
        return JSONWriter.document { writer in
            writer.member("id", id)
            writer.member("createdAt", time)
            writer.member("runtimeVersion", runtimeVersion)
            writer.member("launchAsset") { launch.write(to: &$0) }
            writer.member("assets", assets) { $1.write(to: &$0) }
            writer.member("metadata") { _ in }
            writer.member("extra") { writer in
                guard let config else { return }
                writer.key("expoClient")
                writer.value(config)
            }
        }
    }

    /// The order to go back to the update that was shipped with the app.
    static func rollBack(at time: String) -> [UInt8] {
        JSONWriter.document { writer in
            writer.member("type", "rollBackToEmbedded")
            writer.member("parameters") { $0.member("commitTime", time) }
        }
    }

    /// An asset as a manifest lists it.
    private struct Entry {
        var hash, key, contentType, url: String
        var ending: String

        init(
            _ file: Manifest.Entry, ending: String, _ content: ClientContent,
            _ contentAddress: ObjectID, _ configuration: ClientConfiguration
        ) throws(StoreError) {
            hash = Base64.urlString(file.address.bytes)
            // As the app's own assets are keyed: what was shipped with it is not fetched again.
            key = try content.facts(of: file).md5
            contentType = ExpoAsset.contentType(ending: ending)
            self.ending = ending
            url =
                configuration.baseURL
                + ExpoAsset.path(file.address, of: contentAddress, ending: ending)
        }

        func write(to writer: inout JSONWriter) {
            writer.member("hash", hash)
            writer.member("key", key)
            writer.member("contentType", contentType)
            // Also of a file without one: clients on Android pass over an asset that lacks it, those on iOS end.
            writer.member("fileExtension", ".\(ending)")
            writer.member("url", url)
        }
    }

    /// An id from a digest: its first 16 bytes in the spelling of a UUID (RFC 9562, section 4).
    static func id(of digest: ObjectID) -> String {
        let digits = Array(digest.description)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
            .joined(separator: "-")
    }

    /// The id of an update: another for each time it is offered, since clients take the newest they have seen, and know
    /// the time of each id.
    static func id(
        content: ObjectID, sequence: Int64, createdAt: Int64, platform: String,
        runtimeVersion: String,
        _ channel: ChannelName
    ) throws(StoreError) -> String {
        // Nothing but a runtime version may contain a line feed, and that is the last.
        let parts = [
            "castree-expo 1", "\(content)", "\(sequence)", "\(createdAt)", platform, "\(channel)",
            runtimeVersion,
        ]
        let text = parts.joined(separator: "\n")
        return id(of: try ObjectID(of: Array(text.utf8)))
    }
}

/// Times as Expo's documents have them: `2026-11-22T22:02:19.000Z` (ISO 8601).
enum ExpoTime {
    /// The text of milliseconds since 1970.
    static func text(_ milliseconds: Int64) -> String {
        let day = Int64(86_400_000)
        let rest = (milliseconds % day + day) % day
        let date = CivilDate(daysSince1970: (milliseconds - rest) / day)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
            + time.joined(separator: ":") + ".\(padded(rest % 1000, 3))Z"
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(count - digits.utf8.count, 0)) + digits
    }
}
