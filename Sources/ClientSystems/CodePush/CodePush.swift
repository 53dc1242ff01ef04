import Archives
import HotPush
import Platform
import StrictJSON
import VersionTree

/// The feed of CodePush's clients, React Native's and Cordova's, for both generations of its API.
enum CodePush: ClientFeed {
    static let system = ClientSystem.codePush

    private static let api = "/v0.1/public/codepush/"
    private static let archives = "/for/codepush/archives/"

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        let request = inquiry.request
        switch request.path {
        case api + "update_check": return try answerToCheck(inquiry, .snake)
        case "/updateCheck": return try answerToCheck(inquiry, .camel)
        case api + "report_status/deploy", "/reportStatus/deploy":
            return answerToReport(request, needed: ["app_version", "appVersion"])
        case api + "report_status/download", "/reportStatus/download":
            return answerToReport(request, needed: ["label"])
        default:
            guard request.rest(after: archives) != nil else { return nil }
            guard request.asksForContent else { return .wrongMethod("GET") }
            let found = try inquiry.archive(below: archives) { (name, channel) throws(StoreError) in
                try archive(name, in: channel, inquiry)
            }
            return found ?? .notFound("There is no such archive.\n")
        }
    }

    // MARK: Checks

    private static func answerToCheck(
        _ inquiry: ClientInquiry, _ spelling: CodePushAnswer.Spelling
    ) throws(StoreError) -> ClientAnswer {
        guard inquiry.request.asksForContent else { return .wrongMethod("GET") }
        let check: CodePushCheck
        do throws(ClientRefusal) {
            check = try CodePushCheck(inquiry.request)
        } catch {
            return .text(error.status, error.sentence)
        }
        guard inquiry.configuration.deployments[check.deploymentKey] != nil else {
            return CodePushCheck.isKey(check.deploymentKey)
                ? .notFound("There is no such deployment key.\n")
                : .text(400, "A deployment key has letters, digits, _ and - only.\n")
        }
        guard let channel = try inquiry.channel(of: check.deploymentKey) else {
            return CodePushAnswer(runsBinary: true).clientAnswer(spelling)
        }
        var answer = CodePushAnswer()
        switch CodePushDecision.decide(check, in: channel) {
        case .nothing(let runsBinary, let range, let asksForNewerApp):
            answer.range = range
            answer.runsBinary = runsBinary
            answer.asksForNewerApp = asksForNewerApp
        case .update(let live, let isMandatory):
            // If the origin has lost the content, the client keeps what it has.
            guard let version = live.offer.version,
                let download = try download(of: live.offer, for: check, in: channel, inquiry)
            else { break }
            answer = CodePushAnswer(
                downloadURL: inquiry.configuration.baseURL + archives + download.name.description,
                description: version.name.description, isAvailable: true, range: check.appVersion,
                isMandatory: isMandatory, packageHash: live.offer.packageHash ?? "",
                label: live.offer.label ?? "", packageSize: download.byteCount)
        }
        return answer.clientAnswer(spelling)
    }

    /// The smallest archive that leads a client to a release: a difference, if the channel also offers the client's
    /// release.
    private static func download(
        of offer: ClientOffer, for check: CodePushCheck, in channel: ClientChannel,
        _ inquiry: ClientInquiry
    ) throws(StoreError) -> (name: ArchiveName, byteCount: Int64)? {
        guard let name = try archiveName(of: offer, inquiry.configuration),
            let package = try package(of: offer, inquiry)
        else { return nil }
        let folder = package.folder
        // Look for the hash, never the label: two deployments use the same labels.
        let held = channel.live.first { live in
            live.offer.packageHash != nil && live.offer.packageHash == check.packageHash
        }
        if let held, let base = try self.package(of: held.offer, inquiry) {
            var difference = name
            difference.base = held.offer.version?.content
            let key = "\(folder) \(difference) \(source(of: offer)) \(source(of: held.offer))"
            let byteCount = try inquiry.origin.archiveByteCount(named: key) {
                () throws(StoreError) in try package.difference(from: base)?.byteCount
            }
            if let byteCount { return (difference, byteCount) }
        }
        if let archive = offer.archive { return (name, archive.byteCount) }
        let byteCount = try inquiry.origin.archiveByteCount(
            named: "\(folder) \(name) \(source(of: offer))"
        ) { () throws(StoreError) in try package.archive().byteCount }
        return byteCount.map { (name, $0) }
    }

    /// The sources of an archive: for one content, other facts name other deflated copies.
    private static func source(of offer: ClientOffer) -> String {
        guard case .version(let version, let facts) = offer.target else { return "" }
        return "\(version.manifest) \(facts)"
    }

    // MARK: Archives

    private static func package(
        of offer: ClientOffer, _ inquiry: ClientInquiry
    ) throws(StoreError) -> CodePushPackage? {
        try inquiry.origin.content(of: offer).map { content in
            CodePushPackage(
                content, folder: inquiry.configuration.folder,
                signature: offer.signatures["package"])
        }
    }

    /// Caches keep an archive under its name indefinitely, so a folder other than the usual one is part of the name.
    static func archiveName(
        of offer: ClientOffer, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ArchiveName? {
        guard let version = offer.version else { return nil }
        let isUsual = configuration.folder == ClientConfiguration.folders[0]
        return try ArchiveName(
            version.content, details: isUsual ? [] : [configuration.folder],
            signature: offer.signatures["package"])
    }

    private static func archive(
        _ name: ArchiveName, in channel: ClientChannel, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ZipArchive? {
        var whole = name
        whole.base = nil
        guard let offer = try offer(whole, in: channel, inquiry.configuration) else { return nil }
        let held = channel.offer(of: name.base, isLive: true)
        if name.base != nil, held == nil { return nil }
        try inquiry.origin.willFetch(composing: true)
        guard let package = try package(of: offer, inquiry) else { return nil }
        guard name.base != nil else { return try package.archive() }
        guard let held, let base = try self.package(of: held, inquiry) else { return nil }
        return try package.difference(from: base)
    }

    // MARK: Reports

    private static let reportByteCountMax = 64 * 1024

    /// Checks a report and drops it: nothing that a device reports about itself is kept.
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

/// The answer to an update check, in either of its two spellings.
struct CodePushAnswer {
    var downloadURL = ""
    var description = ""
    var isAvailable = false
    /// The version of the client's app or, if nothing is available, the range that another app must be in.
    var range = ""
    var isMandatory = false
    var packageHash = ""
    var label = ""
    var packageSize: Int64 = 0
    var runsBinary = false
    var asksForNewerApp = false

    enum Spelling {
        /// `update_info`, below `/v0.1/public/codepush/`.
        case snake
        /// `updateInfo`, at `/updateCheck`: clients from before 2019.
        case camel
    }

    func clientAnswer(_ spelling: Spelling) -> ClientAnswer {
        func name(_ snake: String, _ camel: String) -> String {
            spelling == .snake ? snake : camel
        }
        return .json { writer in
            writer.member(name("update_info", "updateInfo")) { writer in
                writer.member(name("download_url", "downloadURL"), downloadURL)
                writer.member("description", description)
                writer.member(name("is_available", "isAvailable"), isAvailable)
                writer.member(name("is_disabled", "isDisabled"), false)
                writer.member(name("target_binary_range", "appVersion"), range)
                writer.member(name("is_mandatory", "isMandatory"), isMandatory)
                writer.member(name("package_hash", "packageHash"), packageHash)
                writer.member("label", label)
                writer.member(name("package_size", "packageSize"), packageSize)
                writer.member(
                    name("should_run_binary_version", "shouldRunBinaryVersion"), runsBinary)
                writer.member(name("update_app_version", "updateAppVersion"), asksForNewerApp)
            }
        }
    }
}

// What CodePush announces and records of a release: label, package hash, archive digest, signature.

extension CodePush {
    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        for requirement in release.release.requirements {
            if let sentence = CodePushTerms.objection(to: requirement) {
                objections.refuse(sentence)
            }
        }
        if let perMille = release.release.rollout?.perMille, perMille % 10 != 0 {
            objections.warn(
                "it is for \(perMille) of 1000 devices, and CodePush knows whole per cents: "
                    + (perMille < 10
                        ? "no client of CodePush gets it"
                        : "\(perMille / 10) % of its clients get it"))
        }
        if release.release.target == .embedded {
            objections.warn(
                "devices are to go back to the embedded version, and CodePush's clients keep what they "
                    + "run: publish that content as a release of its own")
        }
        objections.warnUnlessAsked(release.configuration)
        objections.warnUnless(
            release, requires: CodePushTerms.kinds, "CodePush", example: "appVersionRange=^1.2")
        guard let content = release.content else { return objections }
        let package = CodePushPackage(content, folder: release.configuration.folder)
        if content.manifest.count == 0 {
            objections.refuse("it has no files, and CodePush's clients cannot unpack nothing")
        } else if content.paths.allSatisfy({ $0.utf8.starts(with: "\(package.folder)/".utf8) }) {
            objections.refuse(
                "all its files are below \(package.folder)/, which is put above them for CodePush's clients: "
                    + "add the files without that folder")
        }
        try objections.refuseUnlessArchived { () throws(StoreError) in _ = try package.archive() }
        if let name = package.nameBeyondASCII {
            objections.warn(
                "it has names beyond ASCII, \(printable(name)) first, for which CodePush's clients on "
                    + "iOS compute a wrong hash: all clients fetch the whole archive, and those on iOS that "
                    + "check signatures take none")
        }
        objections.warn(ofExecutablesIn: content.manifest, "CodePush's clients")
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        // Clients identify a release by its label, and roll-outs select by it. So the same release keeps its label,
        // also when it is offered to more clients, provided it is the first or the newest. Rolling back to an older
        // one is a new release.
        let known = [
            history.offer(of: release.release.sequence),
            release.head.flatMap { history.offer(of: $0) }, history.newest,
        ]
        let same = known.lazy.compactMap { $0 }.first {
            $0.content == release.release.version?.content
        }
        prepared.offer.label = same?.label ?? "v\(history.nextLabelNumber)"
        guard let content = release.content else { return }
        var package = CodePushPackage(content, folder: release.configuration.folder)
        let hash = try package.hash().description
        prepared.offer.packageHash = hash
        if let signer {
            if content.paths.contains(CodePushPackage.signatureName) {
                throw StoreError(
                    .badPath,
                    "version \(content.manifest.version) has a file \(CodePushPackage.signatureName), where the signature "
                        + "for CodePush's clients would stand: remove the file, or publish without a key"
                )
            }
            package.signature = try signature(of: hash, signer)
            prepared.offer.signatures["package"] = package.signature
        }
        prepared.offer.archive = try release.digest(package.archive())
    }

    /// Signs a package hash: a JWT (RFC 7519) by RS256 (RFC 7518, section 3.3).
    private static func signature(
        of hash: String, _ signer: any ClientSigner
    ) throws(StoreError) -> String {
        let header = JSONWriter.document { writer in
            writer.member("alg", "RS256")
            writer.member("typ", "JWT")
        }
        let claims = JSONWriter.document { writer in
            writer.member("claimVersion", "1.0.0")
            writer.member("contentHash", hash)
        }
        let message = Base64.urlString(header) + "." + Base64.urlString(claims)
        return message + "." + Base64.urlString(try signer.sign(Array(message.utf8)))
    }

    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? {
        guard let hash = offer.packageHash, let known = offer.signatures["package"] else {
            return nil
        }
        return try signature(of: hash, signer) == known
    }

    static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.label == nil || offer.packageHash == nil
    }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        let package = CodePushPackage(content, folder: release.configuration.folder)
        let isOwn = try offer.packageHash == package.hash().description
        return isOwn ? nil : "its files have another package hash"
    }
}
