import CASStore
import StrictJSON
import VersionTree

/// The manifest of a version that is being fetched, on the way from names to addresses.
final class Draft {
    private let plan: DownloadPlan
    private let versions: VersionStore
    let received: Manifest.Received
    /// What is known of the content behind each name of the plan.
    private var contents: [ObjectID: ArrivedContent] = [:]
    private var absent: Set<ObjectID> = []
    /// Files that an earlier pull of the release has brought, with the tags under which they came.
    private var tagged: [TreePath: ArrivedContent] = [:]
    /// Names the origin, if files are kept with its tags.
    private let origin: String
    /// The plan's names for known content.
    var named: Set<ObjectID> { Set(contents.keys) }
    /// What the format has read about the app.
    var app: AppIdentity?
    /// Whether something has come that the registered manifest does not name.
    private(set) var hasNews = false

    init(
        _ plan: DownloadPlan, _ versions: VersionStore, from location: OriginLocation
    ) throws(StoreError) {
        let release = plan.release
        origin = try KnownContent.digest(of: location)
        received = Manifest.Received(
            format: release.family, address: try ObjectID(of: release.received),
            byteCount: Int64(release.received.count))
        self.plan = plan
        self.versions = versions
        app = plan.app
        guard release.files.contains(where: \.isKnownByTag), let standing = try standing() else {
            return
        }
        for entry in standing.entries {
            let one = ArrivedContent(of: entry)
            if one.entityTag != nil { tagged[entry.path] = one }
        }
    }

    /// The registered manifest of the same release.
    /// - Throws: `.io` if the disk does not give it: what came under it would be forgotten.
    private func standing() throws(StoreError) -> Manifest? {
        let name = plan.release.version.description
        let standing: Manifest?
        do throws(StoreError) {
            standing = try versions.manifestUnlessLost(of: name)
        } catch {
            guard error.isUnreadable else { throw error }
            throw error.advising(
                "check the disk (dmesg, smartctl), or retire what has come of version \(name)")
        }
        return standing?.received?.address == received.address ? standing : nil
    }

    /// Adds the received manifest to what arrives: it becomes durable together with the rest.
    ///
    /// The version already names it, so it is missing like the files.
    func bring(to arrivals: Arrivals) throws(StoreError) {
        var arrival = try arrivals.begin(received.address, byteCount: received.byteCount)
        // All of it is here; another pull's part of it is of no use.
        if arrival.offset > 0 { try arrival.restart() }
        let bytes = plan.release.received
        try arrival.append(bytes.span.bytes)
        _ = try arrival.finish()
    }

    /// The manifest as far as it is known: stand-ins name content that has not come.
    private func manifest() throws(StoreError) -> Manifest {
        var release = plan.release
        // The store orders its versions itself; the publisher's order is among the terms.
        release.order = nil
        // A mirror publishes with a version what it noted about its own origin: ours replaces it.
        release.foreign.removeAll { $0.key == ReleaseTerms.key }
        if let terms = ReleaseTerms(of: plan.release).member { release.foreign.append(terms) }
        if let app {
            release.foreign.removeAll { $0.key == AppIdentity.key }
            release.foreign.append(app.member)
        }
        let (plan, contents, absent, tagged) = (plan, contents, absent, tagged)
        if !tagged.isEmpty || contents.values.contains(where: { $0.entityTag != nil }) {
            release.foreign.removeAll { $0.key == KnownContent.originKey }
            release.foreign.append(.init(key: KnownContent.originKey, value: .string(origin)))
        }
        var manifest = try release.manifest(ordinal: 0, createdAt: 0) {
            (position) throws(StoreError) in
            let name = plan.names[position]
            if absent.contains(name) { return nil }
            if let content = contents[name] { return content }
            let file = release.files[position]
            let byteCount = file.byteCount ?? plan.knownSizes[name] ?? 0
            let kept = tagged[file.path].flatMap { $0.address == name ? $0.entityTag : nil }
            return ArrivedContent(address: name, byteCount: byteCount, entityTag: kept)
        }
        manifest.received = received
        return manifest
    }

    /// Takes over what the registered manifest of the same release says has come: another pull, now
    /// or earlier, named it so that it would not be lost.
    private func takeOver() throws(StoreError) {
        let waiting = Set(plan.contents.filter(\.isProvisional).map(\.name))
            .subtracting(contents.keys)
        guard !waiting.isEmpty, let standing = try standing() else { return }
        for (position, file) in plan.release.files.enumerated() {
            let name = plan.names[position]
            guard waiting.contains(name), let entry = standing[file.path], entry.address != name,
                !plan.wrong.contains(entry.address),
                try versions.store.unvouched([entry.address]).isEmpty
            else { continue }
            contents[name] = ArrivedContent(of: entry)
        }
    }

    /// Registers the version, or gives the one of that name that waits for its content this manifest: what came before may
    /// promise what nobody has, under the same content address.
    /// - Returns: whether nothing is missing.
    func register() throws(StoreError) -> Bool {
        try takeOver()
        let manifest = try manifest()
        let name = manifest.version.description
        if try versions.store.versionRow(name)?.isComplete == false {
            // It was whole once, is by now, or is gone.
            let isWhole = try allowing(.versionInUse, .noVersion) { () throws(StoreError) in
                try versions.revise(manifest)
            }
            if let isWhole { return isWhole }
        }
        do throws(StoreError) {
            return try versions.register(manifest)
        } catch {
            guard error.code == .versionExists, try isThere(manifest) else { throw error }
            return true
        }
    }

    /// Notes contents that are in the store; the manifest must name them before the lease of the
    /// download ends.
    func note(_ arrived: [ArrivedFile]) {
        for one in arrived where one.content.isProvisional {
            contents[one.content.name] = one.arrived
            hasNews = true
        }
    }

    func skip(_ names: Set<ObjectID>) {
        absent = names
        if !names.isEmpty { hasNews = true }
    }

    /// Puts what has come into the registered manifest.
    func revise() throws(StoreError) {
        guard hasNews else { return }
        try takeOver()
        let manifest = try manifest()
        do throws(StoreError) {
            try versions.revise(manifest)
        } catch {
            guard error.code == .versionInUse, try isThere(manifest) else { throw error }
        }
        hasNews = false
    }

    /// Whether another process has completed the same release meanwhile.
    private func isThere(_ manifest: Manifest) throws(StoreError) -> Bool {
        let name = manifest.version.description
        guard try versions.isAllHere(name) else { return false }
        return try versions.manifest(of: name).received?.address == received.address
    }
}
