public import CASStore
import StrictJSON
public import VersionTree

/// How one publishing system writes its releases.
///
/// Formats are pure functions of bytes; fetching and storing happen elsewhere. A new format conforms to this protocol,
/// and ``PullOptions/reader`` takes it.
public protocol ReleaseFormat: Sendable {
    /// The format's name in `--format`.
    var name: String { get }

    /// The number of the format; a new number makes a new family.
    var number: Int { get }

    /// The documents that may describe a release, in the order in which to request them.
    /// - Parameters:
    ///   - layout: how the origin is laid out.
    ///   - version: the wanted version; nil for the one that the origin offers.
    /// - Returns: an empty list if the format needs to be given a version there.
    func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument]

    /// Whether bytes look like a document of this format; a beginning that holds what identifies the format is enough.
    func recognizes(_ bytes: [UInt8]) -> Bool

    /// Reads a document.
    /// - Throws: `.badRelease` with the error and its place; `.unsuitableRelease` if the document already says that it
    ///   is not for this app.
    func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release

    /// Reads a document that may say something other than a release; other formats need only ``read(_:_:)``.
    func answer(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> FormatAnswer

    /// Checks the content of a file that ``ReleaseFile/needsInspection``.
    /// - Returns: what the release says about the app, if anything; it becomes ``ReleaseContext/app`` when the release
    ///   becomes current.
    /// - Throws: `.unsuitableRelease`, `.badRelease`.
    func inspect(
        _ file: ReleaseFile, _ content: [UInt8], of release: Release, _ context: ReleaseContext
    ) throws(StoreError) -> AppIdentity?

    /// A message about a problem, in words that users of the system know.
    func message(_ problem: ReleaseProblem) -> String
}

extension ReleaseFormat {
    /// Name and number: `meteor/1`.
    public var family: String { "\(name)/\(number)" }

    package func error(_ problem: ReleaseProblem) -> StoreError {
        StoreError(problem.code, message(problem))
    }

    /// The error for a useless answer; if the server is failing, it includes the URL.
    func error(_ problem: ReleaseProblem, at url: String) -> StoreError {
        var error = error(problem)
        if error.code == .network {
            error.message +=
                " (\(printable(redacted(url)))); the server is failing; try again later"
        }
        return error
    }

    /// Treats every document as a release.
    public func answer(
        _ bytes: [UInt8], _ context: ReleaseContext
    ) throws(StoreError) -> FormatAnswer { .release(try read(bytes, context)) }

    /// Inspects nothing.
    public func inspect(
        _ file: ReleaseFile, _ content: [UInt8], of release: Release, _ context: ReleaseContext
    ) throws(StoreError) -> AppIdentity? { nil }

    /// Uses castree's own words.
    public func message(_ problem: ReleaseProblem) -> String { problem.message }
}

/// What a document says.
public enum FormatAnswer: Sendable {
    /// Run this release.
    case release(Release)
    /// Run the version shipped with the app (Expo's `rollBackToEmbedded`, hot-updater's `ROLLBACK`).
    case embedded
    /// There is nothing for this device; the reasons, as sentences.
    case nothing([String])
}

/// How an origin arranges its files.
public enum DocumentLayout: Sendable, Hashable {
    /// A server that has files under the URLs of the format.
    case server
    /// A directory that has files under their own paths: the version that an app ships with.
    case directory
}

/// A document that may describe a release.
public struct ReleaseDocument: Sendable, Hashable {
    /// Relative to the origin.
    package var path: String
    package var accept: String
    package var mediaTypes: [String]

    /// Describes a JSON document; static servers that do not know the type send it as plain text or octets.
    public init(
        path: String, accept: String = "application/json",
        mediaTypes: [String] = [
            "application/json", "text/json", "text/plain", "application/octet-stream",
            "binary/octet-stream",
        ]
    ) {
        self.path = path
        self.accept = accept
        self.mediaTypes = mediaTypes
    }

    /// Whether an answer with this `Content-Type`, or without one, may be the document.
    ///
    /// A server with a catch-all route answers with a page, which deserves a clearer error than the parser's.
    package func accepts(contentType: String?) -> Bool {
        guard let contentType else { return true }
        let essence = contentType.utf8.prefix { $0 != 59 }.filter { $0 != 32 && $0 != 9 }
        let type = String(decoding: essence, as: UTF8.self).lowercased()
        return mediaTypes.contains(type) || type.hasSuffix("+json")
    }
}

/// What a format needs to know about the origin and the app.
public struct ReleaseContext: Sendable {
    /// For messages; nil for a directory.
    package var origin: OriginURL?
    /// How the origin is laid out.
    public var layout: DocumentLayout
    /// The platform of the app, such as `ios` or `android`; nil for any.
    public var platform: String?
    /// The app as the current version knows it.
    public var app: AppIdentity
    /// The device's name, for formats with their own rollout rule: such a format decides, and omits
    /// ``Audience/rollout`` or sets ``Audience/isDisabled``.
    public var device: String?
    /// The groups that the device is in, for the same formats.
    public var groups: Set<String> = []
    /// The most files that a document may list; a format refuses more while it reads them.
    public var entryCountMax = Manifest.countMax

    /// Creates a context, for tests of your own format.
    public init(
        layout: DocumentLayout = .server, platform: String? = nil, app: AppIdentity = AppIdentity()
    ) {
        self.init(origin: nil, layout: layout, platform: platform, app: app)
    }

    package init(
        origin: OriginURL?, layout: DocumentLayout = .server, platform: String? = nil,
        app: AppIdentity = AppIdentity()
    ) {
        self.origin = origin
        self.layout = layout
        self.platform = platform
        self.app = app
    }
}

/// What a version says about its app.
public struct AppIdentity: Sendable, Hashable {
    /// The publisher's name of the app (Meteor's `appId`); nil if unknown.
    public var id: String?
    /// Where the app's updates come from (Meteor's `ROOT_URL`); nil if unknown.
    public var rootURL: String?

    /// Creates an identity.
    public init(id: String? = nil, rootURL: String? = nil) {
        self.id = id
        self.rootURL = rootURL
    }
}

/// The formats that castree reads.
package enum ReleaseFormats {
    /// First those that a key of their own identifies.
    package static let all: [any ReleaseFormat] = [
        CastreeFormat(), MeteorFormat(), EightFitFormat(),
    ]

    package static var names: [String] { all.map(\.name) }

    /// Nil for an unknown format.
    package static func named(_ name: String) -> (any ReleaseFormat)? {
        all.first { $0.name == name }
    }
}

/// Scans the keys of a JSON object, which may be cut off, until `isEnough` returns true; returns whether it did.
/// - Parameter isEnough: receives each key, the type of its value, and the value if it is a string.
func scanMembers(
    of bytes: [UInt8], _ isEnough: (String, JSONReader.Kind, String?) -> Bool
) -> Bool {
    do throws(JSONError) {
        var reader = try JSONReader(bytes)
        try reader.enterObject()
        while let key = try reader.nextKey() {
            let kind = try reader.peekKind()
            let text = kind == .string ? try reader.readString() : nil
            if isEnough(key, kind, text) { return true }
            if kind != .string { try reader.skipValue() }
        }
    } catch {
        // The text ends or is not JSON: what was seen so far decides.
    }
    return false
}

// The codes that formats add to the engine's one error type.
extension StoreError.Code {
    /// A document is not a release of its format, or breaks the format's rules.
    public static let badRelease = Self("badRelease")
    /// A release is valid but not for this app: it is for another app or platform version.
    public static let unsuitableRelease = Self("unsuitableRelease")
}
