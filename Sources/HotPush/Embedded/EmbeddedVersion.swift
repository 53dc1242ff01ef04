public import CASStore
import StrictJSON
public import VersionTree

/// The version that was shipped with the app, in a directory that the app cannot write to.
public struct EmbeddedVersion: Sendable, Hashable {
    /// Its directory; castree writes nothing there.
    public var directory: String
    /// Its name; other content needs another name, such as a build number or a digest.
    ///
    /// A name in the directory's own document (Meteor's `program.json`) takes precedence.
    public var version: String
    /// Its place among the origin's releases, if the app knows it: compared with that of downloads.
    public var order: Int64?
    /// Whether to show it instead of a download if orders do not tell which is newer.
    ///
    /// True by default: users who have just updated the app from a store expect to see it.
    public var winsWhenInDoubt = true
    /// Whether to compare the directory with the adopted version even if the name is the same.
    ///
    /// Examines every file at every start; for developers who do not number their builds.
    public var comparesContent = false
    /// What to leave out, as gitignore(5) patterns, before the directory's `.castreeignore` files.
    public var excluded: [String] = []
    /// Whether to leave out system files: `.DS_Store`, AppleDouble files, `__MACOSX`, `Thumbs.db`, `desktop.ini`.
    public var skipsJunk = false

    /// Creates an embedded version.
    public init(directory: String, version: String, order: Int64? = nil) {
        self.directory = directory
        self.version = version
        self.order = order
    }

    /// How its directory is added.
    package var adding: AddOptions {
        var options = AddOptions()
        (options.excluded, options.skipsJunk) = (excluded, skipsJunk)
        options.emptyRefusal = .emptyShipment(directory)
        return options
    }
}

/// The result of adopting an embedded version.
public struct EmbeddedReport: Sendable, Hashable {
    /// Its name in the store; longer than the app's if other content had that name.
    public var version: String
    /// Whether it was adopted now, because the app is new or was updated.
    public var isNew: Bool
    /// Whether it is current now and was not before.
    public var becameCurrent: Bool
    /// Objects that the store did not have before.
    package var newObjects: Int
    package var newBytes: Int64
    /// Why it is shown or not, in words for people.
    public var reason: String
    /// What of the directory was left out when it was adopted now; a directory ends with a slash.
    public var leftOut: [String] = []
    /// Adopted files that look unintended for users, such as `.env`; a directory ends with a slash.
    public var unwanted: [String] = []
}

/// A publishing system's document in the app's own directory: the URLs of its files, their native requirements, the
/// app.
///
/// With it, the shipped version is served like a fetched one, and an origin's offer can be recognized in it.
struct EmbeddedRelease {
    var extras: [TreePath: Manifest.Extras] = [:]
    var requirements: [Requirement] = []
    var app: AppIdentity?
    /// The name that its publisher gave it.
    let version: String

    /// Whether the app that the version was shipped with can run one with these requirements; an app that does not name
    /// its compatibility key has that of its shipped version.
    func isFit(_ terms: [Requirement], _ app: AppTraits) -> Bool {
        func isKey(_ requirement: Requirement) -> Bool {
            requirement.kind == Requirement.compatibility
        }
        let keys = terms.filter(isKey)
        let ownKeys = requirements.filter(isKey)
        guard app.compatibility == nil, !keys.isEmpty, !ownKeys.isEmpty else {
            return app.objections(to: terms).isEmpty
        }
        let isMet = keys.contains { key in
            ownKeys.contains { own in
                own.value.utf8.elementsEqual(key.value.utf8) && own.concerns(platform: key.platform)
            }
        }
        return isMet && app.objections(to: terms.filter { !isKey($0) }).isEmpty
    }

    private static let byteCountMax = 64 << 20

    /// Nil if there is no valid document of a known format; the app still shows its files by their paths.
    init?(in directory: String, _ fileSystem: any FileSystem) {
        let context = ReleaseContext(layout: .directory)
        for format in ReleaseFormats.all where !(format is CastreeFormat) {
            for document in format.documents(.directory, version: nil) {
                guard let bytes = Self.read(directory, document.path, fileSystem),
                    format.recognizes(bytes),
                    // A broken document: see above.
                    let release = try? format.read(bytes, context)
                else { continue }
                self.init(release, format, context) { Self.read(directory, $0, fileSystem) }
                return
            }
        }
        return nil
    }

    private init(
        _ release: Release, _ format: any ReleaseFormat, _ context: ReleaseContext,
        read: (String) -> [UInt8]?
    ) {
        version = release.version.description
        requirements = release.requirements
        for file in release.files {
            extras[file.path] = Manifest.Extras(routes: file.routes, foreign: file.foreign)
            guard file.needsInspection, let bytes = read(file.path.description) else { continue }
            // The shipped version is shown, whatever is wrong with its page.
            if let found = try? format.inspect(file, bytes, of: release, context) { app = found }
        }
    }

    /// Nil if the file cannot be read.
    private static func read(
        _ directory: String, _ path: String, _ fileSystem: any FileSystem
    ) -> [UInt8]? {
        // If anything is wrong with the directory, adopting it reports that.
        try? fileSystem.contents(
            POSIXFileSystem.workingDirectory, directory + "/" + path, limit: byteCountMax)
    }
}

/// Decides, without a disk, whether to show a newly embedded version instead of the current one.
enum EmbeddedDecision {
    /// A version that competes with the embedded one.
    struct Rival: Sendable, Hashable {
        var version: String
        /// Whether it has the embedded version's content.
        var isSame = false
        /// Its place among the origin's releases.
        var order: Int64?
        /// Whether the app as it is now can run it.
        var isFit = true
        /// Whether it is the version that was shipped with the app before.
        var wasEmbedded = false
    }

    /// Deletes nothing: the loser stays in the store, and costs nothing if an origin offers it again.
    /// - Parameter winsWhenInDoubt: decides if the orders do not tell which is newer.
    static func decide(
        order: Int64?, winsWhenInDoubt: Bool, current: Rival?, pending: Rival?
    ) -> EmbeddedChange {
        func wins(_ rival: Rival) -> (Bool, String) {
            let name = "version \(rival.version)"
            if !rival.isFit { return (true, "the app can no longer run \(name)") }
            if rival.isSame { return (false, "\(name) has the same content") }
            if rival.wasEmbedded { return (true, "\(name) was the previous embedded version") }
            if let order, let other = rival.order {
                return order < other
                    ? (false, "\(name) is newer than the embedded version")
                    : (true, "\(name) is older than the embedded version")
            }
            return winsWhenInDoubt
                ? (true, "the embedded version takes precedence over earlier downloads")
                : (false, "\(name) takes precedence over the embedded version, by the app's choice")
        }
        var change = EmbeddedChange()
        (change.becomesCurrent, change.reason) =
            current.map(wins) ?? (true, "nothing else was current")
        // A pending version that is no newer would replace it at the next start.
        if let pending { change.dropsPending = pending.isSame || wins(pending).0 }
        return change
    }
}

extension VersionStore {
    /// Ensures that the store has the version shipped with the app, as the last resort for a rollback.
    ///
    /// Call it when the app starts, before `boot`; if it is interrupted or killed, repeat it. After the first time it
    /// reads lifecycle.json and makes one sync. After an app update it copies the files that the store does not have:
    /// they are often on another file system, and disappear with the next update. Downloads and bans are kept. The
    /// version becomes current unless the current one is newer; see ``HotPush/EmbeddedVersion/order`` and
    /// ``HotPush/EmbeddedVersion/winsWhenInDoubt``. Versions whose terms the app no longer meets are neither shown nor
    /// rolled back to.
    ///
    /// If the directory holds a document of a known format (Meteor's `program.json`), the version has the URLs listed
    /// there, and an origin's offer is compared with it.
    ///
    /// - Throws: what importing throws, `.unsupportedFile` for a directory without files; then the lifecycle is
    ///   unchanged.
    @discardableResult
    public func adopt(
        _ embedded: EmbeddedVersion, app: AppTraits = AppTraits()
    ) throws(StoreError) -> EmbeddedReport {
        var embedded = embedded
        if let same = try adoptedBefore(embedded) { return same }
        let release = EmbeddedRelease(in: embedded.directory, fileSystem)
        if let release, release.version != embedded.version {
            // An origin gives the same release this name.
            embedded.version = release.version
            if let same = try adoptedBefore(embedded) { return same }
        }
        let added = try addEmbedded(embedded, app, release)
        let name = added.version
        var reason = "the app was not updated"
        var becameCurrent = false
        let isNew = try lifecycle().embedded != name
        try markEmbedded(name) { (lifecycle) throws(StoreError) -> EmbeddedChange in
            guard lifecycle.embedded != name || lifecycle.current == nil else {
                return EmbeddedChange()
            }
            let change = try self.change(for: embedded, as: name, app, release, lifecycle)
            reason = change.reason
            becameCurrent = change.becomesCurrent && lifecycle.current != name
            return change
        }
        return EmbeddedReport(
            version: name, isNew: isNew, becameCurrent: becameCurrent,
            newObjects: added.newObjects, newBytes: added.newBytes, reason: reason,
            leftOut: added.leftOut, unwanted: added.unwanted)
    }

    /// The report if the version was adopted before, judged by its name only.
    private func adoptedBefore(_ embedded: EmbeddedVersion) throws(StoreError) -> EmbeddedReport? {
        guard !embedded.comparesContent, let name = try lifecycle().embedded,
            Self.isName(name, of: embedded), try isWhole(name)
        else { return nil }
        try confirmLifecycle()
        return EmbeddedReport(
            version: name, isNew: false, becameCurrent: false, newObjects: 0, newBytes: 0,
            reason: "the app was not updated")
    }

    /// The name in the directory's own document; `nil` if it has none.
    package static func shippedName(in directory: String) -> String? {
        EmbeddedRelease(in: directory, POSIXFileSystem())?.version
    }

    /// Whether a stored name is that of an app's version, with or without the suffix that distinguishes it from other
    /// content.
    private static func isName(_ name: String, of embedded: EmbeddedVersion) -> Bool {
        name == embedded.version || name.hasPrefix(embedded.version + shippedMark)
    }

    private static let shippedMark = "+shipped."

    /// Whether a version can be shown, without examining its files; one without files cannot.
    private func isWhole(_ name: String) throws(StoreError) -> Bool {
        try versions().contains {
            $0.version == name && $0.state == .materialized && $0.files > 0
        }
    }

    private func addEmbedded(
        _ embedded: EmbeddedVersion, _ app: AppTraits, _ release: EmbeddedRelease?
    ) throws(StoreError) -> AddReport {
        var options = embedded.adding
        // It was made for this app: another app with other native code cannot go back to it.
        var terms = ReleaseTerms(order: embedded.order)
        if let key = app.compatibility {
            terms.requirements.append(Requirement(kind: Requirement.compatibility, value: key))
        } else if let release {
            terms.requirements = release.requirements
        }
        if let member = terms.member { options.foreign.append(member) }
        if let identity = release?.app { options.foreign.append(identity.member) }
        options.extras = release?.extras ?? [:]
        do throws(StoreError) {
            return try add(
                directory: embedded.directory, version: embedded.version, options: options)
        } catch {
            guard error.code == .versionExists else { throw error }
        }
        // Other content has the name: a download, or an earlier build under the same number.
        var number = 1
        while true {
            let name = "\(embedded.version)\(Self.shippedMark)\(number)"
            do throws(StoreError) {
                return try add(directory: embedded.directory, version: name, options: options)
            } catch {
                guard error.code == .versionExists, number < 1000 else { throw error }
                number += 1
            }
        }
    }

    private func change(
        for embedded: EmbeddedVersion, as name: String, _ app: AppTraits,
        _ release: EmbeddedRelease?, _ lifecycle: Lifecycle
    ) throws(StoreError) -> EmbeddedChange {
        let content = try manifest(of: name).contentAddress()
        var rivals: [String: EmbeddedDecision.Rival] = [:]
        for version in lifecycle.needed where version != name {
            rivals[version] = rival(version, content, lifecycle) { terms in
                release?.isFit(terms, app) ?? app.objections(to: terms).isEmpty
            }
        }
        var change = EmbeddedDecision.decide(
            order: embedded.order, winsWhenInDoubt: embedded.winsWhenInDoubt,
            current: lifecycle.current.flatMap { rivals[$0] },
            pending: lifecycle.pending.flatMap { rivals[$0] })
        change.unfit = Set(rivals.values.filter { !$0.isFit }.map(\.version))
        guard lifecycle.ban(of: content) != nil else {
            if lifecycle.current == name { change.becomesCurrent = false }
            return change
        }
        // It was banned on this device as a download. There may be something better to show, or not.
        let fit = [lifecycle.current].compactMap { $0 } + lifecycle.knownGood
        let isOnly = !fit.contains { rivals[$0]?.isFit == true }
        change.becomesCurrent = isOnly
        change.liftsBan = isOnly
        change.reason =
            isOnly
            ? "there is nothing else to show, so its ban is lifted"
            : "its content is banned on this device"
        return change
    }

    private func rival(
        _ version: String, _ content: ObjectID, _ lifecycle: Lifecycle,
        isFit: ([Requirement]) -> Bool
    ) -> EmbeddedDecision.Rival {
        var rival = EmbeddedDecision.Rival(version: version)
        rival.wasEmbedded = lifecycle.embedded == version
        do throws(StoreError) {
            let manifest = try lookingAgain { () throws(StoreError) in
                try self.manifest(of: version)
            }
            let terms = ReleaseTerms(of: manifest)
            rival.isSame = try manifest.contentAddress() == content
            rival.order = terms.order
            rival.isFit = isFit(terms.requirements)
        } catch {
            // A version whose manifest is gone or damaged cannot be shown. One that merely cannot be read now is kept,
            // as a version without terms.
            rival.isFit = !Self.saysManifestIsLost(error)
        }
        return rival
    }
}
