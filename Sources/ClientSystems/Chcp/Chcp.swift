import HotPush
import Platform
import StrictJSON
import VersionTree

/// The feed of cordova-hot-code-push: `chcp.json` names the current release, `chcp.manifest` lists its files.
///
/// The files are served below the address of their content, so a download stays one release when another is
/// published.
enum Chcp: ClientFeed {
    static let system = ClientSystem.chcp
    static let namesakes: String? = "chcp's clients"

    private static let prefix = "/for/chcp/"
    private static let files = "www"
    private static let missing = ClientAnswer.notFound("There is no such file.\n")

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard let names = inquiry.request.segments(below: prefix) else { return nil }
        guard inquiry.request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard names.count > 1, let channel = try inquiry.channel(of: names[0]) else {
            return missing
        }
        if names.count == 2, names[1] == "chcp.json" {
            return release(channel, deployment: names[0], inquiry.configuration) ?? missing
        }
        guard names.count > 3, names[1] == files, let address = ObjectID(names[2]),
            let offer = channel.offer(of: address, isLive: false)
        else { return missing }
        try inquiry.origin.willFetch(composing: false)
        guard let content = try inquiry.origin.content(of: offer) else { return missing }
        if names.count == 4, names[3] == "chcp.manifest" {
            let bytes = try inquiry.origin.encoded(named: "chcp \(address)") {
                () throws(StoreError) in try manifest(content)
            }
            return .immutable("application/json", .bytes(bytes))
        }
        // An encoded slash would give a file a second URL.
        guard !names[3...].contains(where: { $0.utf8.contains(0x2f) }) else { return missing }
        let text = names[3...].joined(separator: "/")
        // A text that is not a path names no file.
        guard !ownPaths.contains(text), let path = try? TreePath(text),
            let entry = content.manifest[path]
        else { return missing }
        return .file(entry)
    }

    private static func release(
        _ channel: ClientChannel, deployment: String, _ configuration: ClientConfiguration
    ) -> ClientAnswer? {
        guard let newest = channel.newest(besides: kinds), let version = newest.offer.version
        else { return nil }
        // All of them must be met. Values that are not numbers were refused when publishing.
        let least = newest.release.requirements.compactMap { Int64($0.value) }.max()
        let place = "\(prefix)\(PercentEncoding.unreserved(deployment))/\(files)/\(version.content)"
        var answer = ClientAnswer.json { writer in
            writer.member("content_url", configuration.baseURL + place)
            writer.member("release", version.name.description)
            // Apps count their native interfaces from 1.
            writer.member("min_native_interface", least ?? 1)
            writer.member("update", newest.release.isMandatory ? "now" : "start")
        }
        // Caches between must revalidate.
        answer.set("cache-control", "no-cache")
        return answer
    }

    private static func manifest(_ content: ClientContent) throws(StoreError) -> [UInt8] {
        var entries: [(path: String, md5: String)] = []
        for entry in content.manifest.entries {
            let path = entry.path.description
            if ownPaths.contains(path) { continue }
            entries.append((path, try content.facts(of: entry).md5))
        }
        var writer = JSONWriter()
        writer.objects(entries) { writer, entry in
            writer.member("file", entry.path)
            writer.member("hash", entry.md5)
        }
        return writer.drain()
    }
}

// What chcp announces of a release: two files, the same for everybody, from which each answer is made.

extension Chcp {
    static let kinds = [Requirement.minimumNativeInterface]
    /// The files that the plugin itself writes into a release.
    static let ownPaths: Set<String> = ["chcp.json", "chcp.manifest"]

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.refuseChoice(in: release, "chcp's clients", besides: kinds)
        objections.warnUnless(
            release, requires: kinds, "chcp", example: "minimumNativeInterface=3")
        if release.release.isMandatory {
            objections.warn(
                "chcp's clients show a mandatory release as soon as it is there (\"update\":\"now\"), and the older one "
                    + "until then")
        }
        guard let paths = release.content?.paths else { return objections }
        // Clients build a URL from a name, and these characters would begin its query or fragment.
        if let path = paths.first(where: { $0.utf8.contains(0x3f) || $0.utf8.contains(0x23) }) {
            objections.refuse(
                "chcp's clients cannot ask for a name with ? or #: rename \(printable(path))")
        }
        if let path = paths.first(where: { $0.utf8.contains { $0 >= 0x80 } }) {
            objections.warn(
                "chcp's clients send names beyond ASCII as they are, which castree's server and nginx take and "
                    + "others may not, such as \(printable(path))")
        }
        for path in paths where ownPaths.contains(path) {
            objections.warn(
                "chcp's clients write \(path) themselves: that of the version is left out")
        }
        return objections
    }
}
