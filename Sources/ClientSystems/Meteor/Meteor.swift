import HotPush
import Platform
import StrictJSON
import VersionTree

/// The feed of Meteor's Cordova clients: the folder `__cordova` of a server.
///
/// URLs do not name a version. A client that began before another release was offered still finds its own files while
/// their URLs are unique to it; it refuses other files by their hash.
enum Meteor: ClientFeed {
    static let system = ClientSystem.meteor
    static let namesakes: String? = "Meteor's clients"

    static let prefix = "/for/meteor/"
    private static let folder = "__cordova"
    private static let contentCountMax = 4
    private static let missing = ClientAnswer.notFound("There is no such file.\n")

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard let names = inquiry.request.segments(below: prefix) else { return nil }
        guard inquiry.request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard names.count > 2, names[1] == folder,
            let channel = try inquiry.channel(of: names[0]),
            let newest = channel.newest(besides: kinds)
        else { return missing }
        if names.count == 3, names[2] == "manifest.json" {
            guard let document = newest.offer.documents.first else { return missing }
            return ClientAnswer(
                200,
                ["content-type": "application/json; charset=utf-8", "cache-control": "no-cache"],
                body: .document(document, .meteor))
        }
        // An encoded slash would give a file a second URL.
        guard !names.contains(where: { $0.utf8.contains(0x2f) }) else { return missing }
        let path = names[2...].joined(separator: "/")
        try inquiry.origin.willFetch(composing: false)
        for offer in offers(newest.offer, channel) {
            guard let content = try inquiry.origin.content(of: offer),
                let entry = try MeteorProgram.file(path, in: content.manifest)
            else { continue }
            return answer(entry)
        }
        return missing
    }

    private static func offers(_ newest: ClientOffer, _ channel: ClientChannel) -> [ClientOffer] {
        var offers = [newest]
        var seen = Set([newest.version?.content])
        for offer in channel.past.reversed() where offer.sequence < newest.sequence {
            guard offers.count < contentCountMax else { break }
            if seen.insert(offer.version?.content).inserted { offers.append(offer) }
        }
        return offers
    }

    private static func answer(_ entry: Manifest.Entry) -> ClientAnswer {
        var answer = ClientAnswer.file(entry)
        let label = MeteorProgram.label(of: entry)
        if let label { answer.set("etag", "\"\(label.text)\"") }
        if label?.isFinal != true { answer.set("cache-control", "no-cache") }
        return answer
    }
}

// What Meteor announces and records of a release: `manifest.json`.

extension Meteor {
    static let kinds = [Requirement.compatibility]

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.refuseChoice(in: release, "Meteor's clients", besides: kinds)
        objections.warnIfMandatory(
            release, "Meteor's clients", "the app decides when it shows an update")
        guard let content = release.content else { return objections }
        let program: MeteorProgram
        do throws(StoreError) {
            program = try MeteorProgram(content.manifest)
        } catch {
            guard error.code == .unsuitableRelease else { throw error }
            objections.refuse(error.message)
            return objections
        }
        try objections.warn(ofPageElsewhere: release)
        let keys = program.compatibilityVersions
        for requirement in release.release.requirements
        where requirement.kind == Requirement.compatibility
            && !keys.contains(where: { $0.utf8.elementsEqual(requirement.value.utf8) })
        {
            objections.refuse(
                "Meteor's clients compare what its manifest says (\(keys.map { printable($0) }.joined(separator: ", "))), and "
                    + "the release requires \(printable(requirement.value)): publish without that")
        }
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        guard let content = release.content else { return }
        let program = try MeteorProgram(content.manifest)
        let bytes = program.bytes
        prepared.add(try ClientDocument(of: bytes, id: program.version), bytes)
    }

    static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.documents.isEmpty
    }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        let program = try MeteorProgram(content.manifest)
        let address = try ObjectID(of: program.bytes)
        let isOwn =
            offer.documents.count == 1
            && offer.documents.allSatisfy { $0.id == program.version && $0.address == address }
        return isOwn ? nil : "its manifest lists other files"
    }
}

extension [ClientObjection] {
    /// Warns if the version's page sends clients elsewhere: from then on they ask its `ROOT_URL`.
    fileprivate mutating func warn(ofPageElsewhere release: ClientRelease) throws(StoreError) {
        guard let page = release.content?.manifest[try TreePath(MeteorProgram.indexPath)] else {
            return
        }
        let bytes = try release.read(page.address)
        let configuration = release.configuration
        let places = configuration.deployments.keys.sorted().map { name in
            "\(configuration.baseURL)\(Meteor.prefix)\(PercentEncoding.unreserved(name))/"
        }
        // A page without a configuration leaves clients where they are.
        guard let rootURL = (try? MeteorRuntimeConfig(indexPage: bytes))?.rootURL,
            let place = places.first, !places.contains(rootURL)
        else { return }
        warn(
            "after this version Meteor's clients ask \(printable(rootURL)), which is the ROOT_URL of its page: let the "
                + "server that it is pulled from run with ROOT_URL=\(place) (and DDP_DEFAULT_CONNECTION_URL)"
        )
    }
}

/// A version as Meteor's clients read it: the inverse of ``MeteorFormat``.
struct MeteorProgram {
    static let format = "web-program-pre1"
    static let indexPath = "index.html"
    static let indexRoute = "/"
    private static let compatibilityKey = "cordovaCompatibilityVersions"
    private static let otherKeys = [
        "versionRefreshable", "versionNonRefreshable", "versionReplaceable", "PUBLIC_SETTINGS",
        "hmrVersion", "refreshableAssets", "meteorRuntimeConfig",
    ]

    private let manifest: Manifest
    private let compatibility: JSONValue

    /// - Throws: `.unsuitableRelease` for a version that was not read from Meteor.
    init(_ manifest: Manifest) throws(StoreError) {
        self.manifest = manifest
        guard let index = manifest[try TreePath(Self.indexPath)],
            index.routes.contains(where: { $0.utf8.elementsEqual(Self.indexRoute.utf8) }),
            let compatibility = manifest.foreign.value(Self.compatibilityKey),
            compatibility.asObject != nil
        else { throw Self.refusal("was not read as a release of Meteor's") }
        self.compatibility = compatibility
        for entry in manifest.entries where entry.path != index.path {
            guard entry.foreign.value("type")?.asString != nil,
                entry.foreign.value("cacheable")?.asBool != nil
            else {
                throw Self.refusal(
                    "has \(printable(entry.path.description)), of which Meteor's manifest said nothing"
                )
            }
        }
    }

    var version: String {
        manifest.foreign.value(Release.publisherVersionKey)?.asString
            ?? manifest.version.description
    }

    /// The keys that tell whether the version fits an app's native code.
    var compatibilityVersions: [String] {
        (compatibility.asObject ?? []).compactMap(\.value.asString)
    }

    var bytes: [UInt8] {
        JSONWriter.document { writer in
            writer.member("format", Self.format)
            writer.member("version", version)
            writer.key(Self.compatibilityKey)
            writer.value(compatibility)
            writer.members(Self.otherKeys, of: manifest.foreign)
            writer.key("manifest")
            writer.beginArray()
            for entry in manifest.entries where entry.path.description != Self.indexPath {
                // Without a route, a file is served at its path.
                let routes = entry.routes.isEmpty ? ["/\(entry.path)"] : entry.routes
                for route in routes { writer.object { Self.write(entry, route, to: &$0) } }
            }
            writer.endArray()
        }
    }

    private static func write(_ entry: Manifest.Entry, _ route: String, to writer: inout JSONWriter)
    {
        writer.member("path", entry.path.description)
        writer.member("where", "client")
        writer.members(["type", "cacheable"], of: entry.foreign)
        writer.member("url", route)
        writer.member("size", entry.byteCount)
        writer.members(["hash", "sourceMap", "sourceMapUrl", "replaceable"], of: entry.foreign)
        if let digest = entry.labels.first(where: { $0.algorithm == .sha512 }) {
            writer.member("sri", Base64.string(digest.bytes))
        }
    }

    /// The hash that clients compare with a file's entity tag, and whether its URL never names another file.
    static func label(of entry: Manifest.Entry) -> (text: String, isFinal: Bool)? {
        guard let text = entry.foreign.value("hash")?.asString, MeteorLabel(text) != nil else {
            return nil
        }
        let isNamed =
            entry.path.description.contains(text)
            || entry.routes.contains { $0.contains(text) }
        return (text, isNamed && entry.foreign.value("cacheable")?.asBool == true)
    }

    /// The file that a URL below `__cordova/` names: by a route with that prefix, by one without, by its own path.
    static func file(
        _ path: String, in manifest: Manifest
    ) throws(StoreError) -> Manifest.Entry? {
        if path.isEmpty { return manifest[try TreePath(indexPath)] }
        for wanted in ["/__cordova/\(path)", "/\(path)"] {
            if let position = position(ofRoute: Array(wanted.utf8), in: manifest) {
                return manifest[position]
            }
        }
        // A text that is not a path names no file.
        guard let treePath = try? TreePath(path), let entry = manifest[treePath],
            entry.routes.isEmpty
        else { return nil }
        return entry
    }

    /// Routes keep their author's spelling, encoded or not.
    private static func position(ofRoute wanted: [UInt8], in manifest: Manifest) -> Int? {
        manifest.extras.first { _, extras in
            extras.routes.contains { route in
                route.utf8.elementsEqual(wanted)
                    || route.utf8.contains(0x25) && PercentEncoding.decoded(route.utf8) == wanted
            }
        }?.key
    }

    private static func refusal(_ problem: String) -> StoreError {
        StoreError(
            .unsuitableRelease,
            "Meteor's clients cannot run this version: it \(problem); castree pull --format meteor reads a server's, or "
                + "the directory with program.json that Meteor builds")
    }
}

extension [JSONValue.Member] {
    fileprivate func value(_ key: String) -> JSONValue? {
        first { $0.key.utf8.elementsEqual(key.utf8) }?.value
    }
}

extension JSONWriter {
    fileprivate mutating func members(_ keys: [String], of fields: [JSONValue.Member]) {
        for key in keys {
            guard let value = fields.value(key) else { continue }
            self.key(key)
            self.value(value)
        }
    }
}
