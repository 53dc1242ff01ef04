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
    package func read(
        _ bytes: [UInt8], _ context: ReleaseContext
    ) throws(StoreError) -> Release {
        var reading = MeteorReading(bytes, context)
        do throws(JSONError) {
            try reading.read()
        } catch {
            throw StoreError(
                .badRelease, "\(MeteorMessages.documentUnreadable): \(error.message)")
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
