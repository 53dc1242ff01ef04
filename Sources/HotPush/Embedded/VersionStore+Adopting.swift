public import CASStore
public import VersionTree

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
    private func adoptedBefore(
        _ embedded: EmbeddedVersion
    ) throws(StoreError) -> EmbeddedReport? {
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
