import Archives
import HotPush
package import Platform
import StrictJSON
import VersionTree

/// Answers CodePush's clients: React Native's and Cordova's, of both generations of its API.
package enum CodePushDecider: ClientDecider {
    package static let system = ClientSystem.codePush

    private static let api = "/v0.1/public/codepush/"
    private static let archives = "/for/codepush/archives/"

    package static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        switch request.path {
        case api + "update_check":
            return try answerToCheck(request, .snake, configuration, origin)
        case "/updateCheck": return try answerToCheck(request, .camel, configuration, origin)
        case api + "report_status/deploy", "/reportStatus/deploy":
            return answerToReport(request, needed: ["app_version", "appVersion"])
        case api + "report_status/download", "/reportStatus/download":
            return answerToReport(request, needed: ["label"])
        default: return try archive(request, configuration, origin)
        }
    }

    // MARK: Checks

    private static func answerToCheck(
        _ request: ClientRequest, _ spelling: CodePushAnswer.Spelling,
        _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer {
        guard request.asksForContent else { return .wrongMethod("GET") }
        let check: CodePushCheck
        do throws(CodePushCheck.Malformed) {
            guard let values = request.queryValues() else {
                throw CodePushCheck.Malformed(sentence: "The query is no text, or too long.\n")
            }
            check = try CodePushCheck(values)
        } catch {
            return .text(400, error.sentence)
        }
        guard let name = configuration.deployments[check.deploymentKey] else {
            return CodePushCheck.isKey(check.deploymentKey)
                ? .notFound("There is no such deployment key.\n")
                : .text(400, "A deployment key has letters, digits, _ and - only.\n")
        }
        let channel = try origin.channel(name, for: system)
        guard let channel else { return CodePushAnswer(runsBinary: true).clientAnswer(spelling) }
        switch CodePushDecision.decide(check, in: channel) {
        case .nothing(let runsBinary, let range, let asksForNewerApp):
            let answer = CodePushAnswer(
                range: range, runsBinary: runsBinary, asksForNewerApp: asksForNewerApp)
            return answer.clientAnswer(spelling)
        case .update(let live, let isMandatory):
            let download = try download(
                of: live.offer, for: check, in: channel, configuration, origin)
            // What the origin has lost is not offered: the client keeps what it has.
            guard let download, let version = live.offer.version else {
                return CodePushAnswer().clientAnswer(spelling)
            }
            let answer = CodePushAnswer(
                downloadURL: configuration.baseURL + archives + download.name.description,
                description: version.name.description, isAvailable: true, range: check.appVersion,
                isMandatory: isMandatory, packageHash: live.offer.packageHash ?? "",
                label: live.offer.label ?? "", packageSize: download.byteCount)
            return answer.clientAnswer(spelling)
        }
    }

    /// The smallest that leads a client to a release: a difference from what it has, if the channel offers that, too.
    private static func download(
        of offer: ClientOffer, for check: CodePushCheck, in channel: ClientChannel,
        _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> (name: ArchiveName, byteCount: Int64)? {
        guard let name = try archiveName(of: offer, configuration),
            let package = try package(of: offer, configuration, origin)
        else { return nil }
        // By what the client has, never by what it calls it: labels of two deployments are alike.
        let held = channel.live.first { live in
            live.offer.packageHash != nil && live.offer.packageHash == check.packageHash
        }
        if let held, let base = try self.package(of: held.offer, configuration, origin) {
            var difference = name
            difference.base = held.offer.version?.content
            let parts = [
                configuration.folder, "\(difference)", source(of: offer), source(of: held.offer),
            ]
            let byteCount = try origin.archiveByteCount(
                named: parts.joined(separator: " ")
            ) { () throws(StoreError) in
                try package.difference(from: base)?.byteCount
            }
            if let byteCount { return (difference, byteCount) }
        }
        if let archive = offer.archive { return (name, archive.byteCount) }
        let byteCount = try origin.archiveByteCount(
            named: "\(configuration.folder) \(name) \(source(of: offer))"
        ) { () throws(StoreError) in try package.archive().byteCount }
        return byteCount.map { (name, $0) }
    }

    /// What an archive is made from: of one content, other facts name other twins.
    private static func source(of offer: ClientOffer) -> String {
        guard case .version(let version, let facts) = offer.target else { return "" }
        return "\(version.manifest) \(facts)"
    }

    private static func package(
        of offer: ClientOffer, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> CodePushPackage? {
        guard let content = try origin.content(of: offer) else { return nil }
        return CodePushPackage(
            content, folder: configuration.folder, signature: offer.signatures["package"])
    }

    /// Caches keep an archive for ever by its name: so the folder is in it, too, unless it is the usual one.
    private static func archiveName(
        of offer: ClientOffer, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ArchiveName? {
        guard let version = offer.version else { return nil }
        var name = ArchiveName(version.content)
        if configuration.folder != ClientConfiguration.folders[0] {
            name.details = [configuration.folder]
        }
        if let signature = offer.signatures["package"] {
            name.details.append(try ArchiveName.tag(of: signature))
        }
        return name
    }

    // MARK: Archives

    private static func archive(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard request.path.utf8.starts(with: archives.utf8) else { return nil }
        guard request.asksForContent else { return .wrongMethod("GET") }
        guard let name = request.archiveName(below: archives) else {
            return .notFound("There is no such archive.\n")
        }
        for channelName in Set(configuration.deployments.values).sorted() {
            guard let channel = try origin.channel(channelName, for: system),
                let archive = try archive(name, in: channel, configuration, origin)
            else { continue }
            return .immutable("application/zip", .archive(archive))
        }
        return .notFound("There is no such archive.\n")
    }

    /// An archive of what a channel offers, from what the same channel offers.
    private static func archive(
        _ name: ArchiveName, in channel: ClientChannel, _ configuration: ClientConfiguration,
        _ origin: some ClientOrigin
    ) throws(StoreError) -> ZipArchive? {
        var whole = name
        whole.base = nil
        for live in channel.live where live.offer.version?.content == name.content {
            guard try archiveName(of: live.offer, configuration) == whole else { continue }
            let held = channel.live.first { $0.offer.version?.content == name.base }
            if name.base != nil, held == nil { return nil }
            try origin.willFetch(composing: true)
            guard let package = try package(of: live.offer, configuration, origin) else { continue }
            guard name.base != nil else { return try package.archive() }
            guard let held, let base = try self.package(of: held.offer, configuration, origin)
            else { return nil }
            return try package.difference(from: base)
        }
        return nil
    }

    // MARK: Reports

    /// The most bytes of a report that are read.
    private static let reportByteCountMax = 64 * 1024

    /// A report is checked and dropped: nothing that a device says of itself is written anywhere.
    private static func answerToReport(_ request: ClientRequest, needed: [String]) -> ClientAnswer {
        guard request.method == "POST" else { return .wrongMethod("POST") }
        guard request.body.count <= reportByteCountMax else {
            return .text(413, "A report has at most 64 KiB.\n")
        }
        let report: JSONValue
        do throws(JSONError) {
            report = try JSONValue.parse(request.body, limits: JSONLimits(depth: 8))
        } catch {
            return .text(400, "A report is a JSON object.\n")
        }
        func has(_ names: [String]) -> Bool {
            names.contains { report[$0]?.asString?.isEmpty == false }
        }
        guard has(["deployment_key", "deploymentKey"]), has(needed) else {
            return .text(
                400,
                "A report must name a deployment key and \(needed.joined(separator: " or ")).\n")
        }
        return .text(200, "OK")
    }
}
