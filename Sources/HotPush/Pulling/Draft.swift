import CASStore
import StrictJSON
import VersionTree

/// The manifest of a version while it is fetched, on the way from placeholders to addresses.
final class Draft {
    private let plan: DownloadPlan
    private let versions: VersionStore
    let received: Manifest.Received
    private var contents: [ObjectID: FetchedContent] = [:]
    private var absent: Set<ObjectID> = []
    /// Files that an earlier pull of the release fetched, with their entity tags.
    private var tagged: [TreePath: FetchedContent] = [:]
    private let origin: String
    var named: Set<ObjectID> { Set(contents.keys) }
    var app: AppIdentity?
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
        guard release.files.contains(where: \.isKnownByTag), let existing = try existing() else {
            return
        }
        for entry in existing.entries {
            let one = FetchedContent(of: entry)
            if one.entityTag != nil { tagged[entry.path] = one }
        }
    }

    /// Throws `.io` if the manifest cannot be read, because what arrived under it would be forgotten.
    private func existing() throws(StoreError) -> Manifest? {
        let name = plan.release.version.description
        let existing: Manifest?
        do throws(StoreError) {
            existing = try versions.manifestUnlessLost(of: name)
        } catch {
            guard error.isUnreadable else { throw error }
            throw error.advising(
                "check the disk (dmesg, smartctl), or retire what has come of version \(name)")
        }
        return existing?.received?.address == received.address ? existing : nil
    }

    /// Adds the received manifest to the incoming contents, so that it becomes durable together with the files.
    func bring(to incoming: IncomingContents) throws(StoreError) {
        var item = try incoming.begin(received.address, byteCount: received.byteCount)
        // All bytes are in memory, so another pull's part is useless.
        if item.offset > 0 { try item.restart() }
        let bytes = plan.release.received
        try item.append(bytes.span.bytes)
        _ = try item.finish()
    }

    /// The manifest as far as it is known; placeholders name content that has not arrived.
    private func manifest() throws(StoreError) -> Manifest {
        var release = plan.release
        // The store orders its versions itself; the publisher's order is among the terms.
        release.order = nil
        // A mirror publishes its own notes about its origin with a version; ours replace them.
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
            return FetchedContent(address: name, byteCount: byteCount, entityTag: kept)
        }
        manifest.received = received
        return manifest
    }

    /// Adopts what the registered manifest of the release names as arrived, so that another pull's content is kept.
    private func takeOver() throws(StoreError) {
        let waiting = Set(plan.contents.filter(\.isPlaceholder).map(\.name))
            .subtracting(contents.keys)
        guard !waiting.isEmpty, let existing = try existing() else { return }
        for (position, file) in plan.release.files.enumerated() {
            let name = plan.names[position]
            guard waiting.contains(name), let entry = existing[file.path], entry.address != name,
                !plan.wrong.contains(entry.address),
                try versions.store.unproven([entry.address]).isEmpty
            else { continue }
            contents[name] = FetchedContent(of: entry)
        }
    }

    /// Registers the version, or replaces its incomplete manifest, whose promises nobody may be able to keep.
    /// - Returns: whether nothing is missing.
    func register() throws(StoreError) -> Bool {
        try takeOver()
        let manifest = try manifest()
        let name = manifest.version.description
        if try versions.store.versionRow(name)?.isComplete == false {
            // It was complete once, is complete by now, or is gone.
            let isWhole = try allowing(
                [.versionInUse, .noVersion], try versions.revise(manifest))
            if let isWhole { return isWhole }
        }
        do throws(StoreError) {
            return try versions.register(manifest)
        } catch {
            guard error.code == .versionExists, try isThere(manifest) else { throw error }
            return true
        }
    }

    /// Notes contents in the store; the manifest must name them before the download's lease ends.
    func note(_ arrived: [FetchedFile]) {
        for one in arrived where one.content.isPlaceholder {
            contents[one.content.name] = one.arrived
            hasNews = true
        }
    }

    func skip(_ names: Set<ObjectID>) {
        absent = names
        if !names.isEmpty { hasNews = true }
    }

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
