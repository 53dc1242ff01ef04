package import CASStore
import StrictJSON
package import VersionTree

/// Meteor's manifests for Cordova, from 1.4 to today.
///
/// A server has `__cordova/manifest.json`, and the files below `__cordova/`; the version that an app ships with has
/// `program.json`, and the files under their paths. Neither lists the index page, which always exists.
package struct MeteorFormat: ReleaseFormat {
    package init() {}

    package var name: String { "meteor" }
    /// One format for all dialects: only their content distinguishes them.
    package var number: Int { 1 }

    /// The value of the key `format`, if it is there.
    static let program = "web-program-pre1"
    static let indexPath = "index.html"

    package func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        switch layout {
        case .server:
            [ReleaseDocument(path: MeteorURL.base + "manifest.json")]
        case .directory: [ReleaseDocument(path: "program.json")]
        }
    }

    /// Identified by its `format`, its list of files, or its compatibility versions.
    package func recognizes(_ bytes: [UInt8]) -> Bool {
        scanMembers(of: bytes) { key, kind, text in
            switch key {
            case "format": text?.utf8.starts(with: "web-program".utf8) ?? false
            case "manifest": kind == .array
            case "cordovaCompatibilityVersions": kind == .object
            default: false
            }
        }
    }

    /// Throws `.badRelease` with one of ``MeteorMessages`` and the place; `.unsuitableRelease` if the manifest already
    /// says that it is another app's.
    package func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release {
        var reading = MeteorReading(bytes, context)
        do throws(JSONError) {
            try reading.read()
        } catch {
            throw StoreError(.badRelease, "\(MeteorMessages.documentUnreadable): \(error.message)")
        }
        let release = try reading.release(family: family, platform: context.platform)
        try release.validate(origin: context.origin)
        try refuseOtherApp(reading.configuration, context)
        return release
    }

    /// Refuses another app by the runtime configuration in newer manifests, before any file is fetched.
    ///
    /// Only `appId` is reliable: `ROOT_URL` differs from the page's if mobile clients have their own, and the versions
    /// may be those before the last change.
    private func refuseOtherApp(
        _ configuration: String?, _ context: ReleaseContext
    ) throws(StoreError) {
        // An unreadable configuration is left to the index page, which is read and refused later.
        guard let configuration, let wanted = context.app.id,
            let early = try? MeteorRuntimeConfig(json: Array(configuration.utf8)),
            let id = early.appID, !id.utf8.elementsEqual(wanted.utf8)
        else { return }
        let server = early.rootURL ?? context.origin?.description ?? ""
        throw StoreError(.unsuitableRelease, MeteorMessages.wrongAppID(printable(server)))
    }

    /// Checks the index page: its version, its server and its app, in this order.
    /// - Throws: `.unsuitableRelease` with one of ``MeteorMessages``; `.badRelease` for a page without a configuration.
    package func inspect(
        _ file: ReleaseFile, _ content: [UInt8], of release: Release, _ context: ReleaseContext
    ) throws(StoreError) -> AppIdentity? {
        guard file.path.description.utf8.elementsEqual(Self.indexPath.utf8) else { return nil }
        let config = try MeteorRuntimeConfig(indexPage: content)
        let expected = release.publisherVersion
        for actual in config.versions where !actual.utf8.elementsEqual(expected.utf8) {
            throw unsuitable(
                MeteorMessages.versionMismatch(expected: expected, actual: printable(actual)))
        }
        guard let rootURL = config.rootURL, let host = Self.host(rootURL) else {
            throw unsuitable(MeteorMessages.noRootURL)
        }
        let before = context.app.rootURL ?? context.origin?.description
        if host == "localhost", let before, let old = Self.host(before), old != host {
            throw unsuitable(MeteorMessages.rootURLWouldBeLocalhost)
        }
        guard let id = config.appID else { throw unsuitable(MeteorMessages.noAppID) }
        if let wanted = context.app.id, !wanted.utf8.elementsEqual(id.utf8) {
            throw unsuitable(MeteorMessages.wrongAppID(printable(rootURL)))
        }
        return AppIdentity(id: id, rootURL: rootURL)
    }

    private static func host(_ url: String) -> String? {
        // A text that is not a URL has no host.
        (try? OriginURL(url))?.host
    }

    private func unsuitable(_ message: String) -> StoreError {
        StoreError(.unsuitableRelease, message)
    }

    package func message(_ problem: ReleaseProblem) -> String {
        switch problem {
        case .documentStatus(let status): MeteorMessages.documentStatus(status)
        case .documentUnreachable(let cause): "\(MeteorMessages.documentUnreachable): \(cause)"
        case .documentType: "\(MeteorMessages.documentUnreadable): \(problem.message)"
        case .fileStatus(let file, let status):
            MeteorMessages.fileStatus(status, Self.urlPath(of: file))
        case .fileMismatch(let file), .fileDiffers(let file, _):
            MeteorMessages.fileMismatch(Self.urlPath(of: file))
        case .unmet(let requirement) where requirement.kind == Requirement.compatibility:
            MeteorMessages.incompatible
        case .unmet: problem.message
        case .banned: MeteorMessages.banned
        }
    }

    static func urlPath(of file: ReleaseFile) -> String {
        file.routes.first ?? "/" + file.path.description
    }
}

/// What Meteor's index page tells the app: `__meteor_runtime_config__`.
package struct MeteorRuntimeConfig: Sendable, Hashable {
    package var appID: String?
    package var rootURL: String?
    /// The versions of the Cordova program that the page names: `autoupdateVersionCordova` up to Meteor 1.7,
    /// `autoupdate.versions["web.cordova"].version` since.
    package var versions: [String] = []

    /// Throws `.badRelease` if the page has no configuration, or it is not a JSON object.
    package init(indexPage: [UInt8]) throws(StoreError) {
        guard let encoded = Self.find(in: indexPage) else {
            throw Self.refuse("the page has no \(Self.beginning)…")
        }
        guard let text = PercentEncoding.decoded(encoded) else {
            throw Self.refuse("its percent-encoding is broken")
        }
        try self.init(json: text)
    }

    /// Throws `.badRelease` if the text is not a JSON object.
    package init(json: [UInt8]) throws(StoreError) {
        let value: JSONValue
        do throws(JSONError) {
            var reader = try JSONReader(json, limits: JSONLimits(byteCount: Self.byteCountMax))
            var left = Self.valueCountMax
            value = try reader.readValue(valuesLeft: &left)
            try reader.finish()
        } catch {
            throw Self.refuse(error.message)
        }
        guard value.asObject != nil else { throw Self.refuse("it is no JSON object") }
        appID = value["appId"]?.asString
        rootURL = value["ROOT_URL"]?.asString
        let old = value["autoupdateVersionCordova"]
        let new = value["autoupdate"]?["versions"]?["web.cordova"]?["version"]
        for version in [old, new] {
            guard let version, !version.isNull else { continue }
            guard let text = version.asString else {
                throw Self.refuse("the version in it is no text")
            }
            versions.append(text)
        }
    }

    /// A configuration holds an app's public settings.
    private static let byteCountMax = 4 << 20
    /// A tree of short values takes twenty times the memory of its text.
    private static let valueCountMax = 1 << 16

    private static let beginning = "__meteor_runtime_config__ = JSON.parse(decodeURIComponent("

    /// The text between the quotes, at the first place where both ends match.
    private static func find(in page: [UInt8]) -> ArraySlice<UInt8>? {
        let opening = Array((beginning + "\"").utf8)
        let closing = Array("\"))".utf8)
        var start = 0
        while start + opening.count <= page.count {
            guard let first = page[start...].firstIndex(of: opening[0]) else { return nil }
            start = first + 1
            guard page[first...].starts(with: opening) else { continue }
            let text = page[(first + opening.count)...].prefix { $0 != 34 }
            if page[text.endIndex...].starts(with: closing) { return text }
        }
        return nil
    }

    private static func refuse(_ problem: String) -> StoreError {
        StoreError(.badRelease, "\(MeteorMessages.noRuntimeConfiguration): \(problem)")
    }
}

/// The messages of Meteor's Cordova plugin, word for word: apps compare these texts.
package enum MeteorMessages {
    // The manifest.

    package static let noVersion = "Asset manifest does not have a version"
    package static let noCompatibilityVersion =
        "Asset manifest does not have a cordovaCompatibilityVersion"
    package static let documentUnreachable = "Error downloading asset manifest"
    package static let documentUnreadable = "Error parsing asset manifest"

    package static func incompatibleFormat(_ format: String) -> String {
        "The asset manifest format is incompatible: \(format)"
    }

    package static func documentStatus(_ status: Int) -> String {
        "Non-success status code \(status) for asset manifest"
    }

    // Files.

    package static func fileStatus(_ status: Int, _ urlPath: String) -> String {
        "Non-success status code \(status) for asset: \(urlPath)"
    }

    package static func fileMismatch(_ urlPath: String) -> String {
        "Hash mismatch for asset: \(urlPath)"
    }

    // The index page.

    package static let noRuntimeConfiguration = "Couldn't load runtime config from index file"
    package static let noRootURL = "Could not find ROOT_URL in downloaded asset bundle"
    package static let noAppID = "Could not find appId in downloaded asset bundle"
    /// An app that had a public server would be redirected to its own device.
    package static let rootURLWouldBeLocalhost =
        "ROOT_URL in downloaded asset bundle would change current ROOT_URL to localhost. "
        + "Make sure ROOT_URL has been configured correctly on the server."

    package static func versionMismatch(expected: String, actual: String) -> String {
        "Version mismatch for index page, expected: \(expected), actual: \(actual)"
    }

    package static func wrongAppID(_ rootURL: String) -> String {
        "appId in downloaded asset bundle does not match current appId. "
            + "Make sure the server at \(rootURL) is serving the right app."
    }

    // Policy.

    package static let banned = "Skipping downloading blacklisted version"
    package static let incompatible =
        "Skipping downloading new version because the Cordova platform version or plugin versions "
        + "have changed and are potentially incompatible"
}
