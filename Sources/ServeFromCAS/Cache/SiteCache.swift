import CASStore
import Synchronization
import VersionTree

/// The versions that are served: the current one, and those in use, pinned on disk; for all threads.
final class SiteCache: Sendable {
    final class Entry: Sendable {
        let site: Site
        let hold: PinHold
        /// Distinguishes its content from that of other versions of its name; `nil` if it is unknown.
        let tag: String?

        init(_ site: Site, _ hold: PinHold, tag: String?) {
            self.site = site
            self.hold = hold
            self.tag = tag
        }
    }

    private struct State {
        var entries: [VersionName: Entry] = [:]
        var current: Entry?
        var status: FileStatus?
        var hasRead = false
        var lifecycle = Lifecycle()
        var pinsAgainAt = Duration.zero
        var shell: Shell?
        var examined: Site?
        var isEmptied = false
        var isClosed = false
    }

    private struct Shell {
        var manifest: VersionTree.Manifest
        var hold: PinHold
    }

    private static let pinPause = Duration.seconds(5)

    private let store: ServedStore
    var versions: VersionStore { store.versions }
    private let options: SiteOptions
    private let shellName: String?
    let notice: @Sendable (String) -> Void
    private let pinFailure: FailureNotice
    private let followFailure: FailureNotice
    private let state = Mutex(State())
    let names = Mutex(KnownNames())
    /// Versions whose trees could not be built, with the time until which that is not tried again.
    private let unbuilt = Mutex<[String: (error: StoreError, until: Duration)]>([:])
    /// Counts changes of the current version; each thread compares it with the count it saw last.
    private let generation = Atomic<Int>(0)

    /// - Throws: `.noVersion` or `.incompleteVersion` for a shell that cannot be served.
    init(
        _ store: ServedStore, _ options: SiteOptions, shell: String?,
        notice: @escaping @Sendable (String) -> Void
    ) throws(StoreError) {
        self.store = store
        self.options = options
        self.notice = notice
        pinFailure = FailureNotice(notice)
        followFailure = FailureNotice(notice)
        shellName = shell
        let opened = try openShell(in: store.versions)
        state.withLock { $0.shell = opened }
    }

    private func openShell(in versions: VersionStore) throws(StoreError) -> Shell? {
        guard let shellName else { return nil }
        let hold = PinHold(shellName, try Self.pin(shellName, versions, pinFailure))
        try build(shellName, versions)
        return Shell(manifest: try versions.registeredManifest(of: shellName), hold: hold)
    }

    var isEmptied: Bool { state.withLock { $0.isEmptied } }

    /// Shows the versions of another store from now on, and releases those shown before.
    /// - Throws: why it cannot be shown; then nothing has changed.
    func move(to versions: VersionStore) throws(StoreError) {
        let shell = try openShell(in: versions)
        letGo { [store] state in
            state = State(shell: shell, isClosed: state.isClosed)
            store.adopt(versions)
            followFailure.end()
        }
    }

    func empty() {
        letGo { state in
            state = State(isEmptied: true, isClosed: state.isClosed)
            followFailure.end()
        }
    }

    func clear() {
        letGo { ($0.entries, $0.current, $0.shell, $0.isClosed) = ([:], nil, nil, true) }
    }

    private func letGo(_ change: (inout State) -> Void) {
        let dropped = state.withLock { state -> State in
            defer { generation.add(1, ordering: .releasing) }
            let dropped = state
            change(&state)
            return dropped
        }
        // Their pins are released here, outside the lock.
        withExtendedLifetime(dropped) {}
    }

    /// Changes whenever another version becomes current.
    var currentGeneration: Int { generation.load(ordering: .acquiring) }

    var current: Entry? { state.withLock { $0.current } }

    var lifecycle: Lifecycle { state.withLock { $0.lifecycle } }

    /// Whether the served version is the lifecycle's; if not, the operator was told why.
    var isFollowing: Bool { !followFailure.isTold }

    /// All versions that are here, the current one first.
    var sites: [Site] {
        state.withLock { state in
            let current = state.current?.site
            return (current.map { [$0] } ?? [])
                + state.entries.values.map(\.site).filter { $0 !== current }
                + [state.examined].compactMap { $0 }
        }
    }

    var objects: Set<ObjectID> {
        var result: Set<ObjectID> = []
        for site in sites { for resource in site.resources { result.insert(resource.address) } }
        return result
    }

    /// Whether the lifecycle may have changed since it was last read; only checks its file's status.
    var hasNews: Bool {
        do throws(StoreError) {
            let root = versions.directories.root.raw
            let status = try versions.fileSystem.status(root, StoreLayout.lifecycle)
            return state.withLock { !$0.hasRead || $0.isEmptied || $0.status != status }
        } catch {
            // The reader reports why it cannot be read.
            return true
        }
    }

    /// A version that is here; never waits for the store.
    func entry(_ version: VersionName) -> Entry? { state.withLock { $0.entries[version] } }

    var entries: [Entry] { state.withLock { Array($0.entries.values) } }

    /// Replaces an entry by another of the same version, unless it has gone meanwhile.
    func replace(_ entry: Entry, by other: Entry) {
        state.withLock { state in
            let version = entry.site.version
            guard state.entries[version] === entry else { return }
            state.entries[version] = other
            if state.current === entry { state.current = other }
            generation.add(1, ordering: .releasing)
        }
    }

    func keep(_ entry: Entry) {
        state.withLock { state in
            let version = entry.site.version
            guard state.entries[version] == nil, !state.isClosed else { return }
            state.entries[version] = entry
        }
    }

    /// Checks whether another version is current, whichever process made it so.
    /// - Returns: the lifecycle before and now if it has changed.
    @discardableResult
    func refresh() -> (before: Lifecycle, now: Lifecycle)? {
        compareNames()
        return readLifecycle()
    }

    private func readLifecycle() -> (before: Lifecycle, now: Lifecycle)? {
        do throws(StoreError) {
            let versions = versions
            let root = versions.directories.root.raw
            let status = try versions.fileSystem.status(root, StoreLayout.lifecycle)
            if state.withLock({ $0.hasRead && $0.status == status }) {
                // A file that cannot be checked for a moment counts as unchanged.
                followFailure.end()
                return nil
            }
            let lifecycle = try lifecycle(of: versions)
            // Open it before it is shown: a version that cannot be shown does not become current.
            let entry = try lifecycle.current.map { (name) throws(StoreError) in
                try self.open(VersionName(name))
            }
            let before = state.withLock { state -> Lifecycle in
                // Another store has come meanwhile: its own lifecycle is read next.
                guard store.versions === versions else { return lifecycle }
                // The first reading is no change.
                let before = state.hasRead ? state.lifecycle : lifecycle
                state.hasRead = true
                followFailure.end()
                state.status = status
                state.lifecycle = lifecycle
                let isNew = state.current?.site !== entry?.site
                state.current = entry
                if isNew { generation.add(1, ordering: .releasing) }
                return before
            }
            return before == lifecycle ? nil : (before, lifecycle)
        } catch {
            // Continue to serve as before: pages matter more than news.
            followFailure.tell("unable to follow the lifecycle: \(error.message)")
            return nil
        }
    }

    /// A version, from the cache or the store; may wait for other processes.
    /// - Throws: `.noVersion` if it is gone; `.incompleteVersion`; what reading throws.
    func open(_ version: VersionName) throws(StoreError) -> Entry {
        if let entry = state.withLock({ $0.entries[version] }) { return entry }
        let name = version.description
        let versions = versions
        try recoverManifest(name, versions)
        let hold = PinHold(name, try Self.pin(name, versions, pinFailure))
        try build(name, versions)
        let shell = state.withLock { $0.shell?.manifest }
        let site = Site(
            try manifest(name, versions), options: options, shell: shell,
            digests: digester(versions))
        let content = try versions.content(of: name)
        let entry = Entry(
            compared(site, versions), hold,
            tag: content.map { String($0.description.prefix(PinCookie.tagByteCount)) })
        return state.withLock { state in
            if let other = state.entries[version] { return other }
            let isOver = state.isClosed || store.versions !== versions
            if !isOver { state.entries[version] = entry }
            return entry
        }
    }

    /// Looks at a version that need not be here, without pinning it: the caller may hold the lock of the lifecycle,
    /// which keeps it from being retired.
    func examine<R>(
        _ version: VersionName, _ body: (Site) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        if let entry = entry(version) { return try body(entry.site) }
        let versions = versions
        guard try versions.canBeShown(version.description) else {
            throw StoreError(.incompleteVersion, "version \(version) cannot be shown")
        }
        let shell = state.withLock { $0.shell?.manifest }
        let site = Site(
            try manifest(version.description, versions), options: options, shell: shell)
        // Its tree may have files whose objects are lost.
        state.withLock { $0.examined = site }
        defer { state.withLock { $0.examined = nil } }
        return try body(site)
    }

    /// Builds a version's tree if that is gone, as after a restore of a part of the store.
    ///
    /// One thread builds at a time, and what failed is not tried again for a minute.
    private func build(_ name: String, _ versions: VersionStore) throws(StoreError) {
        if try versions.isMaterialized(name) { return }
        let outcome = unbuilt.withLock { unbuilt -> Result<Void, StoreError> in
            if let last = unbuilt[name], SystemClock.now < last.until {
                return .failure(last.error)
            }
            do throws(StoreError) {
                try versions.materialize(name)
                unbuilt[name] = nil
                return .success(())
            } catch {
                let told = Self.explained(error, name)
                if error.code == .locked { return .failure(told) }
                unbuilt = unbuilt.filter { SystemClock.now < $0.value.until }
                unbuilt[name] = (told, SystemClock.now + Self.buildPause)
                return .failure(told)
            }
        }
        try outcome.get()
    }

    private static let buildPause = Duration.seconds(60)

    private static func explained(_ error: StoreError, _ name: String) -> StoreError {
        switch error.code {
        case .noVersion, .locked: error
        case .incompleteVersion:
            StoreError(
                .incompleteVersion,
                "version \(name) is not whole, so it is not served; castree missing \(name) says "
                    + "what it is missing")
        default:
            StoreError(
                error.code,
                "the tree of version \(name) is gone and cannot be built, so it is not served; "
                    + "castree fsck says what is wrong: \(error.message)", cause: error.cause)
        }
    }

    /// Pins a version; on a full disk, with the store's reserve.
    /// - Returns: `nil` if no pin can be made now; ``pinAgain(now:)`` retries.
    private static func pin(
        _ name: String, _ versions: VersionStore, _ problem: FailureNotice
    ) throws(StoreError) -> VersionPin? {
        do throws(StoreError) {
            return try versions.store.withReserve { () throws(StoreError) in
                try versions.pin(name)
            }
        } catch {
            // A text of its own: the error names a file whose name differs each time.
            switch error.code {
            case .outOfSpace:
                problem.tell(
                    "there is no space to pin a version that is served, so other processes can "
                        + "retire it; free some space")
            case .permission:
                problem.tell(
                    "a version that is served cannot be pinned, so other processes can retire it: "
                        + "this user may not write leases/ in the store")
            // On such a disk, nobody else can retire anything either.
            case .readOnly: break
            default: throw error
            }
            return nil
        }
    }

    /// Retries the missing pins every few seconds; removes versions retired meanwhile; may wait for other processes.
    func pinAgain(now: Duration) {
        let missing = state.withLock { state -> [PinHold] in
            guard now >= state.pinsAgainAt else { return [] }
            state.pinsAgainAt = now + Self.pinPause
            var holds = state.entries.values.map(\.hold)
            if let shell = state.shell { holds.append(shell.hold) }
            return holds.filter { !$0.isHeld }
        }
        for hold in missing {
            do throws(StoreError) {
                guard let pin = try Self.pin(hold.version, versions, pinFailure) else { continue }
                hold.take(pin)
                pinFailure.end()
            } catch {
                guard error.code == .noVersion else { continue }
                state.withLock { state in
                    guard state.current?.hold !== hold else { return }
                    for (version, entry) in state.entries where entry.hold === hold {
                        state.entries[version] = nil
                    }
                }
            }
        }
    }

    /// Removes what is neither current nor in `pinned`; the caller releases it.
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

// What a store shows if a file that describes it is damaged or gone.

extension SiteCache {
    /// The lifecycle; if it cannot be read and nothing is served yet, what the link `current` shows.
    func lifecycle(of versions: VersionStore) throws(StoreError) -> Lifecycle {
        do throws(StoreError) {
            return try versions.lifecycle()
        } catch {
            guard error.code == .badLifecycle || error.code == .tooLarge,
                current == nil
            else { throw error }
            let shown = try versions.lifecycleOfLink()
            guard shown.current != nil else { throw error }
            notice("serving the version that the link current shows: \(error.message)")
            return shown
        }
    }

    /// The manifest of a version; if it cannot be used, what the version's tree shows.
    func manifest(
        _ name: String, _ versions: VersionStore
    ) throws(StoreError) -> Manifest {
        do throws(StoreError) {
            return try versions.registeredManifest(of: name)
        } catch {
            guard VersionStore.saysManifestIsUnusable(error),
                let shown = try versions.manifestShown(by: name)
            else { throw error }
            notice("version \(name) is served as its tree shows it: \(error.message)")
            return shown
        }
    }

    /// Makes a lost manifest again from the tree, so the version is served as the tree shows it.
    /// - Throws: `.locked` if it could not be looked at in time.
    func recoverManifest(_ name: String, _ versions: VersionStore) throws(StoreError) {
        do throws(StoreError) {
            // If the version is registered, leave a damaged manifest to a repair; a sound one is read later.
            let isKnown = try versions.store.versionRow(name) != nil
            if isKnown, try versions.hasManifest(name) { return }
            guard try versions.isMaterialized(name),
                try versions.manifestUnlessLost(of: name) == nil
            else { return }
            guard try versions.recoverManifest(of: name) != .none else { return }
            notice(
                "the manifest of version \(name) was lost and was made again from its tree; castree fsck says "
                    + "whether it is complete")
        } catch {
            if error.code == .locked { throw error }
            // Opening the version reports what is missing; this reports why it could not be restored.
            notice("unable to make the manifest of version \(name) again: \(error.message)")
        }
    }
}

// Which files a cache may keep without asking again, by their names: the content must match the name, and no other
// version may have other bytes at the path.
extension SiteCache {
    /// The most bytes of a version read to find digests in names; files not read are not called immutable.
    private static var digestedByteCountMax: Int64 { 256 << 20 }
    private static var digestsMax: Int { 65_536 }

    /// Reads files to find their SHA-1 and MD5, each once.
    func digester(_ versions: VersionStore) -> (ObjectID, Int64) -> [Label] {
        var space = Self.digestedByteCountMax
        return { [self] object, byteCount in
            if let known = names.withLock({ $0.digests[object] }) { return known }
            guard byteCount <= space else { return [] }
            space -= byteCount
            do throws(StoreError) {
                guard let reader = try versions.store.open(object) else { return [] }
                let digests = try ContentDigests([.sha1, .md5])
                try reader.forEachPiece { piece throws(StoreError) in
                    piece.withUnsafeBytes { digests.update($0) }
                }
                let found = digests.finish(address: object)
                names.withLock { names in
                    if names.digests.count >= Self.digestsMax { names.digests = [:] }
                    names.digests[object] = found
                }
                return found
            } catch {
                // A request for the file reports what is wrong with it; until then no cache keeps it for a year.
                return []
            }
        }
    }

    /// A site as caches may keep it beside the other versions of the store.
    func compared(_ site: Site, _ versions: VersionStore) -> Site {
        site.beside(others(than: site, versions)) ?? site
    }

    /// Compares names again if a version has come or gone since.
    func compareNames() {
        let named = entries.filter { !$0.site.names.isEmpty }
        guard !named.isEmpty else { return }
        let versions = versions
        do throws(StoreError) {
            let status = try versions.fileSystem.status(versions.directories.manifests.raw)
            let isNews = names.withLock { names in
                defer { names.compared = status }
                return names.compared != status
            }
            guard isNews else { return }
            for entry in named {
                guard let site = entry.site.beside(others(than: entry.site, versions)) else {
                    continue
                }
                replace(entry, by: Entry(site, entry.hold, tag: entry.tag))
            }
        } catch {
            // Without a list of versions, the last comparison remains valid.
            return
        }
    }

    private func others(
        than site: Site, _ versions: VersionStore
    ) -> some Sequence<VersionTree.Manifest> {
        // A version whose manifest cannot be read is not served, so it does not count.
        names(versions).filter { $0 != site.version.description }.lazy.compactMap {
            try? versions.manifest(of: $0)
        }
    }

    func names(_ versions: VersionStore) -> [String] {
        // Without the list, no version is known to differ, and none to confirm a name.
        let files = try? versions.fileSystem.names(in: versions.directories.manifests.raw) {
            file, _ in file.hasSuffix(StoreLayout.manifestSuffix) && !file.hasPrefix(".")
        }
        return (files ?? []).map { String($0.dropLast(StoreLayout.manifestSuffix.count)) }
    }
}

struct KnownNames: Sendable {
    /// The directory of manifests when names were last compared.
    var compared: FileStatus?
    var digests: [ObjectID: [Label]] = [:]
}

// If an object cannot be opened, the trees may have its bytes: those of the served versions, and files at the same
// path in the others.
extension SiteCache {
    /// How many files of one version are tried: usually they are all one file.
    private static let perVersionMax = 3

    /// Files that should have the bytes of `object`, the likeliest first.
    func copies(of object: ObjectID) -> [ObjectCopy] {
        var places: [String] = []
        var paths: [String] = []
        for site in sites {
            for file in site.files(with: object, limit: Self.perVersionMax) {
                places.append("\(file.version)/\(file.path)")
                if !paths.contains(file.path) { paths.append(file.path) }
            }
        }
        // In other versions the path may have other bytes; the size and the hash tell.
        for version in trees where places.count < ObjectCopy.triedMax {
            for path in paths where !places.contains("\(version)/\(path)") {
                places.append("\(version)/\(path)")
            }
        }
        let versions = versions
        return places.map { place in
            ObjectCopy(name: StoreLayout.treePath(place)) { () throws(StoreError) in
                try ObjectReader(
                    object, at: place, below: versions.directories.versions.raw,
                    versions.fileSystem)
            }
        }
    }

    /// Called once for each object for which a copy is served, with the reason: the object's own error.
    func replaced(_ failure: StoreError, by copy: String) {
        notice(
            "\(failure.message); until then \(copy), which has its bytes, is served in its place")
    }

    private var trees: [String] {
        let versions = versions
        // Hidden ones are being built or removed. Without the list, the trees of the served versions remain.
        let names = try? versions.fileSystem.names(in: versions.directories.versions.raw) {
            name, _ in !name.hasPrefix(".")
        }
        return (names ?? []).prefix(Self.treesMax).sorted()
    }

    private static var treesMax: Int { 256 }
}

/// The pin of a served version, or an empty place until a pin can be made.
final class PinHold: Sendable {
    let version: String
    private let pin: Mutex<VersionPin?>

    init(_ version: String, _ pin: VersionPin?) {
        self.version = version
        self.pin = Mutex(pin)
    }

    var isHeld: Bool { pin.withLock { $0 != nil } }

    func take(_ new: VersionPin) { pin.withLock { $0 = new } }
}
