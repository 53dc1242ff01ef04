import Synchronization

/// The files of a bucket in memory, shared by the ``ModelStorage`` of each actor.
package final class ModelStore: Sendable {
    package struct File: Sendable, Hashable {
        package var bytes: [UInt8]
        package var tag: EntityTag
        package var fields: StoredFields
        /// Seconds since 1970, by the store's clock.
        package var modifiedAt: Int64
    }

    /// A write as it arrives at the store.
    enum Write {
        case put(String, [UInt8], EntityTag, StoredFields, WriteCondition)
        case delete([String])
    }

    private struct State {
        var files: [String: File] = [:]
        /// What each key had before its last change; nil in it: nothing.
        var before: [String: File?] = [:]
        var lastChanged: [String] = []
        var requestCount = 0
        var changeCount = 0
        var dialect: ModelDialect
        var ghosts: [(due: Int, write: Write)] = []
        var openUploads: [OpenUpload] = []
    }

    private let state: Mutex<State>
    package let clock: ServerClock

    /// What messages call it.
    package let place: String

    package init(
        _ dialect: ModelDialect = ModelDialect(), clock: ServerClock = ServerClock(),
        place: String = "s3://model/origin"
    ) {
        state = Mutex(State(dialect: dialect))
        (self.clock, self.place) = (clock, place)
    }

    /// A store of its own with the files that another one has, at the same time of day.
    package init(copying other: ModelStore) {
        let (files, dialect) = other.state.withLock { ($0.files, $0.dialect) }
        state = Mutex(State(files: files, dialect: dialect))
        (clock, place) = (ServerClock(other.clock.now), other.place)
    }

    /// All files, by key: for invariants.
    package var files: [String: File] { state.withLock { $0.files } }

    /// What the store can do; another one if it is replaced by a newer one.
    package var dialect: ModelDialect {
        get { state.withLock { $0.dialect } }
        set { state.withLock { $0.dialect = newValue } }
    }

    /// Uploads in parts that somebody has left.
    package var openUploads: [OpenUpload] {
        get { state.withLock { $0.openUploads } }
        set { state.withLock { $0.openUploads = newValue } }
    }

    /// How often a file was written or removed.
    package var changeCount: Int { state.withLock { $0.changeCount } }

    /// How many requests came.
    package var requestCount: Int { state.withLock { $0.requestCount } }

    /// How many writes are on their way that nobody waits for.
    package var ghostCount: Int { state.withLock { $0.ghosts.count } }

    /// Puts or removes a file, as a person with another tool might.
    package func set(_ key: String, _ bytes: [UInt8]?, _ fields: StoredFields = .object) {
        state.withLock { state in
            guard let bytes else { return change(&state, key, to: nil) }
            change(&state, key, to: file(bytes, Self.tag(of: bytes), fields))
        }
    }

    /// Lets all ghosts come true, the oldest first.
    package func applyGhosts() {
        state.withLock { state in
            let ghosts = state.ghosts
            state.ghosts = []
            for ghost in ghosts { _ = apply(ghost.write, &state) }
        }
    }

    /// The MD5 of the bytes, as most stores have it.
    static func tag(of bytes: [UInt8]) -> EntityTag {
        guard let digest = try? Digester.digest(.md5, of: bytes) else {
            preconditionFailure("libcrypto has no MD5 here")
        }
        return EntityTag(Hex.string(digest))
    }

    // MARK: for ModelStorage

    /// Counts a request.
    func nextNumber() -> Int {
        state.withLock {
            $0.requestCount += 1
            return $0.requestCount
        }
    }

    /// Applies the ghosts that are due before that request.
    func applyGhosts(before number: Int) {
        state.withLock { state in
            let due = state.ghosts.filter { $0.due <= number }
            state.ghosts.removeAll { $0.due <= number }
            for ghost in due { _ = apply(ghost.write, &state) }
        }
    }

    func keep(_ write: Write, until due: Int) { state.withLock { $0.ghosts.append((due, write)) } }

    func apply(_ write: Write) -> WriteOutcome { state.withLock { apply(write, &$0) } }

    func file(_ key: String, isStale: Bool) -> File? {
        state.withLock { state in
            if isStale, let before = state.before[key] { return before }
            return state.files[key]
        }
    }

    /// The keys in order, without one; stale: as before the last change of any key.
    func listing(isStale: Bool, without hidden: String?) -> [(key: String, file: File)] {
        state.withLock { state in
            var files = state.files
            if isStale {
                for key in state.lastChanged { files[key] = state.before[key] ?? nil }
            }
            if let hidden { files[hidden] = nil }
            return files.map { (key: $0.key, file: $0.value) }
                .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        }
    }

    private func file(_ bytes: [UInt8], _ tag: EntityTag, _ fields: StoredFields) -> File {
        File(bytes: bytes, tag: tag, fields: fields, modifiedAt: clock.now)
    }

    private func change(_ state: inout State, _ key: String, to file: File?) {
        state.before[key] = .some(state.files[key])
        state.files[key] = file
        state.changeCount += 1
        state.lastChanged = [key]
    }

    private func apply(_ write: Write, _ state: inout State) -> WriteOutcome {
        switch write {
        case .put(let key, let bytes, let tag, let fields, let condition):
            switch condition {
            case .none: break
            case .absent:
                guard state.dialect.knowsIfNoneMatch else { return .unsupported }
                guard state.files[key] == nil else { return .conditionFailed }
            case .matching(let wanted, let spelling):
                guard !state.dialect.tagSpellings.isEmpty else { return .unsupported }
                guard state.dialect.tagSpellings.contains(spelling.rawValue),
                    state.files[key]?.tag == wanted
                else { return .conditionFailed }
            }
            change(&state, key, to: file(bytes, tag, fields))
            return .stored(tag)
        case .delete(let keys):
            for key in keys { change(&state, key, to: nil) }
            state.lastChanged = keys
            return .stored(EntityTag(""))
        }
    }
}
