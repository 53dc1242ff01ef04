package import CASStore
import Synchronization

/// The objects of a store, as a server sends them: a few small ones from memory, all others from files
/// that are kept open.
///
/// Bytes are verified against their address when they enter memory, and those of objects up to 32 KB
/// when their file is opened. An open file is looked at again before each use: when anything about it has changed, it is read and verified
/// before it is served again.
package final class ContentCache: ObjectSource {
    package struct Limits: Sendable {
        /// Objects up to this many bytes are kept in memory.
        package var smallByteCount = 32 << 10
        /// Objects up to this many bytes are read and verified when their file is opened.
        package var verifiedByteCount = 32 << 10
        /// Bytes of all objects in memory.
        package var memory: Int
        /// Files kept open.
        package var openFiles: Int

        /// What suits the process: half of the files that it may have open, and where those are few
        /// more memory instead.
        package init() {
            openFiles = min(16_384, max(32, FileLimit.current / 2))
            memory = openFiles >= 4096 ? 512 << 10 : 16 << 20
        }
    }

    private struct State {
        var small: RecentlyUsed<[UInt8]>
        var files: RecentlyUsed<OpenObject>
        /// Counts small objects that were not in memory.
        var missed = 0
    }

    /// When memory is full, one of so many objects that are asked for and not in it gets in.
    ///
    /// A site larger than the memory would else read and verify something for every request.
    private static let rarity = 32
    /// What an entry costs beside its bytes: the array's header, the node, the table's slot.
    private static let overhead = 160

    private let store: Store
    private let limits: Limits
    private let state: Mutex<State>

    package init(_ store: Store, limits: Limits = Limits()) {
        self.store = store
        self.limits = limits
        state = Mutex(
            State(
                small: RecentlyUsed(limit: limits.memory),
                files: RecentlyUsed(limit: limits.openFiles)))
    }

    package func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        size <= Int64(limits.smallByteCount)
            ? try small(object, size) : .file(try large(object, size))
    }

    private enum Known {
        case bytes([UInt8])
        case file(OpenObject, mayEnter: Bool)
        case nothing
    }

    private func small(_ object: ObjectID, _ size: Int64) throws(StoreError) -> ObjectContent {
        switch known(object, size) {
        case .bytes(let bytes):
            guard bytes.count == Int(size) else { throw otherSize(object, size) }
            return .memory(bytes)
        case .file(let open, let mayEnter):
            guard !mayEnter, open.byteCount == size, open.status == (try open.currentStatus())
            else { break }
            return .file(open)
        case .nothing: break
        }
        // Two threads may read the same object; both reads are right, and no lock is held.
        guard let reader = try store.open(object) else { throw missing(object) }
        let open = try OpenObject(reader)
        guard open.byteCount == size else { throw otherSize(object, size) }
        let bytes = try open.bytes()
        keep(object, open, bytes)
        return .memory(bytes)
    }

    private func known(_ object: ObjectID, _ size: Int64) -> Known {
        state.withLock { state in
            if let bytes = state.small.value(of: object) { return .bytes(bytes) }
            state.missed &+= 1
            guard let open = state.files.value(of: object) else { return .nothing }
            let mayEnter =
                state.missed % Self.rarity == 0 || state.small.hasRoom(Int(size) + Self.overhead)
            return .file(open, mayEnter: mayEnter)
        }
    }

    private func keep(_ object: ObjectID, _ open: OpenObject, _ bytes: [UInt8]) {
        let cost = bytes.count + Self.overhead
        state.withLock { state in
            if state.small.hasRoom(cost) || state.missed % Self.rarity == 0 {
                state.files.remove(object)
                state.small.insert(object, bytes, cost: cost)
            } else {
                state.files.insert(object, open, cost: 1)
            }
        }
    }

    private func large(_ object: ObjectID, _ size: Int64) throws(StoreError) -> OpenObject {
        if let open = state.withLock({ $0.files.value(of: object) }) {
            let status = try open.currentStatus()
            if status == open.status, status.byteCount == size { return open }
            state.withLock { $0.files.remove(object) }
            return try reopen(object, size, verifying: true)
        }
        return try reopen(object, size, verifying: false)
    }

    private func reopen(
        _ object: ObjectID, _ size: Int64, verifying: Bool
    ) throws(StoreError) -> OpenObject {
        guard let reader = try store.open(object) else { throw missing(object) }
        let open = try OpenObject(reader)
        guard open.byteCount == size else { throw otherSize(object, size) }
        if size <= Int64(limits.verifiedByteCount) {
            _ = try open.bytes()
        } else if verifying {
            try open.verify()
        }
        state.withLock { $0.files.insert(object, open, cost: 1) }
        return open
    }

    private func missing(_ object: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(object) is not in the store; run castree fsck --repair, or pull the version "
                + "again", object: object)
    }

    private func otherSize(_ object: ObjectID, _ size: Int64) -> StoreError {
        StoreError(
            .damagedObject,
            "object \(object) does not have the \(size) bytes its version promises; "
                + "run castree fsck --repair", object: object)
    }
}
