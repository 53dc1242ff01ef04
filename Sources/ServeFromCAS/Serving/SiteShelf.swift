import CASStore
import Synchronization
import VersionTree

/// The versions that are served now: the current one, and those that some page still has.
///
/// One for all threads. A version stays on disk as long as it stands here: its pin sees to that.
final class SiteShelf: Sendable {
    /// A version, ready to be served.
    final class Entry: Sendable {
        let site: Site
        /// `nil` where no pin can be made; nothing is retired there either.
        let pin: VersionPin?

        init(_ site: Site, _ pin: VersionPin?) {
            self.site = site
            self.pin = pin
        }
    }

    private struct State {
        var entries: [VersionName: Entry] = [:]
        var current: Entry?
        /// What lifecycle.json was when it was last read.
        var status: FileStatus?
        var hasRead = false
        /// What kept the lifecycle from being followed, so that it is told once.
        var trouble: String?
        var lifecycle = Lifecycle()
    }

    private let versions: VersionStore
    private let options: SiteOptions
    /// The files of the app itself, and the pin that keeps them.
    private let shell: (manifest: VersionTree.Manifest, pin: VersionPin?)?
    private let notice: @Sendable (String) -> Void
    private let state = Mutex(State())
    /// Counts changes of what is current; threads compare it with what they have seen.
    private let generation = Atomic<Int>(0)

    /// - Throws: `.noVersion` or `.incompleteVersion` for a shell that cannot be served.
    init(
        _ versions: VersionStore, _ options: SiteOptions, shell: String? = nil,
        notice: @escaping @Sendable (String) -> Void
    ) throws(StoreError) {
        self.versions = versions
        self.options = options
        self.notice = notice
        self.shell = try shell.map { (name) throws(StoreError) in
            let pin = try Self.pin(name, versions)
            try Self.requireWhole(name, versions)
            return (try versions.manifest(of: name), pin)
        }
    }

    /// Changes whenever another version becomes current.
    var currentGeneration: Int { generation.load(ordering: .acquiring) }

    /// What new pages get; `nil` if no version is current.
    var current: Entry? { state.withLock { $0.current } }

    /// The lifecycle as it was last read.
    var lifecycle: Lifecycle { state.withLock { $0.lifecycle } }

    /// The objects of all versions that stand here.
    var objects: Set<ObjectID> {
        let sites = state.withLock { state in
            state.entries.values.map(\.site) + (state.current.map { [$0.site] } ?? [])
        }
        var result: Set<ObjectID> = []
        for site in sites { for resource in site.resources { result.insert(resource.address) } }
        return result
    }

    /// Looks whether another version is current, by whoever made it so.
    ///
    /// - Returns: the lifecycle before and now, if it has changed.
    @discardableResult
    func refresh() -> (before: Lifecycle, now: Lifecycle)? {
        do throws(StoreError) {
            let root = versions.directories.root.raw
            let status = try versions.fileSystem.status(root, StoreLayout.lifecycle)
            let isKnown = state.withLock { $0.hasRead && $0.status == status }
            if isKnown { return nil }
            let lifecycle = try versions.lifecycle()
            // Opened before it is shown: a version that cannot be shown does not become current.
            let entry = try lifecycle.current.map { (name) throws(StoreError) in
                try self.open(VersionName(name))
            }
            let before = state.withLock { state -> Lifecycle in
                let before = state.lifecycle
                state.hasRead = true
                state.trouble = nil
                state.status = status
                state.lifecycle = lifecycle
                let isNew = state.current?.site !== entry?.site
                state.current = entry
                if isNew { generation.add(1, ordering: .releasing) }
                return before
            }
            return before == lifecycle ? nil : (before, lifecycle)
        } catch {
            // What was served goes on being served: a page is worth more than news.
            let trouble = error.message
            let isNew = state.withLock { state -> Bool in
                defer { state.trouble = trouble }
                return state.trouble != trouble
            }
            if isNew { notice("unable to follow the lifecycle: \(trouble)") }
            return nil
        }
    }

    /// A version, from the shelf or the store.
    /// - Throws: `.noVersion` if it is gone; `.incompleteVersion`; what reading throws.
    func open(_ version: VersionName) throws(StoreError) -> Entry {
        if let entry = state.withLock({ $0.entries[version] }) { return entry }
        let name = version.description
        let pin = try Self.pin(name, versions)
        try Self.requireWhole(name, versions)
        let site = Site(try versions.manifest(of: name), options: options, shell: shell?.manifest)
        let entry = Entry(site, pin)
        return state.withLock { state in
            if let other = state.entries[version] { return other }
            state.entries[version] = entry
            return entry
        }
    }

    private static func requireWhole(
        _ name: String, _ versions: VersionStore
    ) throws(StoreError) {
        guard try versions.isMaterialized(name) else {
            throw StoreError(
                .incompleteVersion,
                "version \(name) is not whole, so it is not served; castree missing \(name) says "
                    + "what it lacks")
        }
    }

    private static func pin(
        _ name: String, _ versions: VersionStore
    ) throws(StoreError) -> VersionPin? {
        do throws(StoreError) {
            return try versions.pin(name)
        } catch {
            guard [.readOnly, .permission, .outOfSpace].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Lets go of everything, since nothing is served any more.
    func clear() {
        let dropped = state.withLock { state -> [VersionName: Entry] in
            let dropped = state.entries
            state.entries = [:]
            state.current = nil
            generation.add(1, ordering: .releasing)
            return dropped
        }
        withExtendedLifetime(dropped) {}
    }

    /// Takes out what neither is current nor in `pinned`; the caller lets go of it.
    func take(besides pinned: [VersionName]) -> [Entry] {
        state.withLock { state -> [Entry] in
            let current = state.current?.site.version
            var taken: [Entry] = []
            for (version, entry) in state.entries
            where version != current && !pinned.contains(version) {
                state.entries[version] = nil
                taken.append(entry)
            }
            return taken
        }
    }
}
