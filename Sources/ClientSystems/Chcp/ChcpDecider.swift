import HotPush
package import Platform
import StrictJSON
import VersionTree

/// Answers clients of cordova-hot-code-push: `chcp.json` says which release is right, `chcp.manifest` of what it consists,
/// and the files are beside that.
///
/// The place of the files is named by their content: what a client began to fetch stays one release when another is
/// published.
package enum ChcpDecider: ClientDecider {
    package static var system: ClientSystem { .chcp }

    private static let prefix = "/for/chcp/"
    private static let files = "www"
    private static let missing = ClientAnswer.notFound("There is no such file.\n")

    package static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard let segments = request.segments(below: prefix) else { return nil }
        guard request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard case .names(let names) = segments, names.count > 1,
            let name = configuration.deployments[names[0]],
            let channel = try origin.channel(name, for: .chcp)
        else { return missing }
        if names.count == 2, names[1] == "chcp.json" {
            return release(channel, deployment: names[0], configuration) ?? missing
        }
        guard names.count > 3, names[1] == files, let address = ObjectID(names[2]),
            let offer = channel.offer(of: address, isLive: false)
        else { return missing }
        try origin.willFetch(composing: false)
        guard let content = try origin.content(of: offer) else { return missing }
        if names.count == 4, names[3] == "chcp.manifest" {
            let bytes = try origin.encoded(named: "chcp \(address)") {
                () throws(StoreError) in try manifest(content)
            }
            return .immutable("application/json", .bytes(bytes))
        }
        return file(names[3...], content) ?? missing
    }

    /// `chcp.json`; `nil` if nothing is offered.
    private static func release(
        _ channel: ClientChannel, deployment: String, _ configuration: ClientConfiguration
    ) -> ClientAnswer? {
        guard let newest = channel.newest(besides: ChcpPublishing.kinds),
            let version = newest.offer.version
        else { return nil }
        // Of several, all must be met. What is no number was refused.
        let least = newest.release.requirements.compactMap { Int64($0.value) }.max()
        let place = "\(prefix)\(PercentEncoding.unreserved(deployment))/\(files)/\(version.content)"
        var answer = ClientAnswer.json { writer in
            writer.member("content_url", configuration.baseURL + place)
            writer.member("release", version.name.description)
            // Apps count their native interfaces from 1.
            writer.member("min_native_interface", least ?? 1)
            writer.member("update", newest.release.isMandatory ? "now" : "start")
        }
        // Caches before the server may ask whether it is still so.
        answer.fields = answer.fields.map {
            $0.name == "cache-control" ? ClientRequest.Field("cache-control", "no-cache") : $0
        }
        return answer
    }

    /// `chcp.manifest`.
    private static func manifest(_ content: ClientContent) throws(StoreError) -> [UInt8] {
        var entries: [(path: String, md5: String)] = []
        for entry in content.manifest.entries {
            let path = entry.path.description
            if ChcpPublishing.ownPaths.contains(path) { continue }
            entries.append((path, try content.facts(of: entry).md5))
        }
        var writer = JSONWriter()
        writer.objects(entries) { writer, entry in
            writer.member("file", entry.path)
            writer.member("hash", entry.md5)
        }
        return writer.drain()
    }

    private static func file(_ names: ArraySlice<String>, _ content: ClientContent) -> ClientAnswer?
    {
        // An encoded slash would make a second URL for a file.
        guard !names.contains(where: { $0.utf8.contains(0x2f) }) else { return nil }
        let text = names.joined(separator: "/")
        // What is no path is the path of no file.
        guard !ChcpPublishing.ownPaths.contains(text), let path = try? TreePath(text),
            let entry = content.manifest[path]
        else { return nil }
        return .file(entry)
    }
}
