package import CASStore
import Synchronization

/// The objects of a store, as a server sends them: small ones from memory, large ones from files that
/// are kept open.
///
/// A small object's bytes are verified against its address when they enter memory. A large object's
/// file is looked at again before each use: when anything but its links has changed, it is read and
/// verified before it is served again.
package final class ContentCache: ObjectSource {
    package struct Limits: Sendable {
        /// Objects up to this many bytes are kept in memory.
        package var smallByteCount = 32 << 10
        /// Bytes of all objects in memory.
        package var memory = 16 << 20
        /// Files kept open.
        package var openFiles = 128

        package init() {}
    }

    private struct State {
        var small: RecentlyUsed<[UInt8]>
        var large: RecentlyUsed<OpenObject>
    }

    private let store: Store
    private let limits: Limits
    private let state: Mutex<State>

    package init(_ store: Store, limits: Limits = Limits()) {
        self.store = store
        self.limits = limits
        state = Mutex(
            State(
                small: RecentlyUsed(limit: limits.memory),
                large: RecentlyUsed(limit: limits.openFiles)))
    }

    package func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        size <= Int64(limits.smallByteCount)
            ? .memory(try small(object, size)) : .file(try large(object, size))
    }

    private func small(_ object: ObjectID, _ size: Int64) throws(StoreError) -> [UInt8] {
        if let bytes = state.withLock({ $0.small.value(of: object) }) {
            guard bytes.count == Int(size) else { throw otherSize(object, size) }
            return bytes
        }
        // Two threads may read the same object; both reads are right, and no lock is held.
        guard let bytes = try store.read(object, limit: limits.smallByteCount) else {
            throw missing(object)
        }
        guard bytes.count == Int(size) else { throw otherSize(object, size) }
        // What an entry costs beside its bytes: the array's header, the node, the table's slot.
        state.withLock { $0.small.insert(object, bytes, cost: bytes.count + 160) }
        return bytes
    }

    private func large(_ object: ObjectID, _ size: Int64) throws(StoreError) -> OpenObject {
        if let open = state.withLock({ $0.large.value(of: object) }) {
            let status = try open.currentStatus()
            if status == open.status, status.byteCount == size { return open }
            state.withLock { $0.large.remove(object) }
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
        if verifying { try open.verify() }
        state.withLock { $0.large.insert(object, open, cost: 1) }
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
