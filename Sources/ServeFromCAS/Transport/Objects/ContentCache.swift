package import CASStore
import Synchronization

/// The objects of a store, as a server sends them: a few small ones from memory, all others from files
/// that are kept open.
///
/// Bytes are verified against their address when they enter memory. A
/// file is read and verified before it is served for the first time, and again when its size, its
/// times or the file itself have changed since; fstat(2) says so before each use. Up to
/// ``Limits/verifiedAtOnce`` bytes that happens in passing, larger ones are read on another thread.
/// A file that does not match stays refused, without being read again, until it changes.
///
/// **Limits.** Bytes that change without the file's times changing are not noticed once the object has
/// been verified: a failing disk or RAM, a write to the device beneath the file system. Nor is a write
/// within the moment between the look and the sending. `castree fsck` reads everything.
package final class ContentCache: ObjectSource {
    package struct Limits: Sendable {
        /// Objects up to this many bytes are kept in memory.
        package var smallByteCount = 32 << 10
        /// Bytes of all objects in memory.
        package var memory: Int
        /// Files kept open.
        package var openFiles: Int
        /// Objects up to this many bytes are verified on the thread that asks: about a millisecond.
        package var verifiedAtOnce = 1 << 20
        /// Files of which is remembered how they were found.
        package var verdicts = 16_384

        /// What suits the process: half of the files that it may have open, and where those are few
        /// more memory instead.
        package init() {
            openFiles = min(16_384, max(32, FileLimit.current / 2))
            memory = openFiles >= 4096 ? 512 << 10 : 16 << 20
        }
    }

    private struct State {
        var small: RecentlyUsed<[UInt8]>
        var large: RecentlyUsed<OpenObject>
        var verdicts: RecentlyUsed<Verdict>
        /// Counts small objects that were not in memory.
        var missed = 0
    }

    /// When memory is full, one of so many objects that are asked for and not in it gets in.
    ///
    /// A site larger than the memory would else read and verify something for every request.
    private static let rarity = 32
    /// What an entry costs beside its bytes: the array's header, the node, the table's slot.
    private static let overhead = 160

    /// What reading a file has shown.
    private struct Verdict: Sendable {
        /// What the file was before it was read.
        var status: FileStatus
        /// `nil`: the bytes match.
        var failure: StoreError?
    }

    private let store: Store
    private let limits: Limits
    private let state: Mutex<State>
    private let verifying = VerifyingQueue()

    package init(_ store: Store, limits: Limits = Limits()) {
        self.store = store
        self.limits = limits
        state = Mutex(
            State(
                small: RecentlyUsed(limit: limits.memory),
                large: RecentlyUsed(limit: limits.openFiles),
                verdicts: RecentlyUsed(limit: limits.verdicts)))
    }

    package func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        guard size <= Int64(limits.smallByteCount) else { return try large(object, size) }
        switch known(object, size) {
        case .bytes(let bytes):
            guard bytes.count == Int(size) else { throw otherSize(object, size) }
            return .memory(bytes)
        case .mayEnter: return .memory(try small(object, size))
        case .stays: return try large(object, size)
        }
    }

    /// What is known of a small object.
    private enum Known {
        case bytes([UInt8])
        /// It is not in memory, and may get in.
        case mayEnter
        /// It stays on disk.
        case stays
    }

    private func known(_ object: ObjectID, _ size: Int64) -> Known {
        state.withLock { state in
            if let bytes = state.small.value(of: object) { return .bytes(bytes) }
            state.missed &+= 1
            let mayEnter =
                state.missed % Self.rarity == 0 || state.small.hasRoom(Int(size) + Self.overhead)
            return mayEnter ? .mayEnter : .stays
        }
    }

    private func small(_ object: ObjectID, _ size: Int64) throws(StoreError) -> [UInt8] {
        // Two threads may read the same object; both reads are right, and no lock is held.
        guard let bytes = try store.read(object, limit: limits.smallByteCount) else {
            throw missing(object)
        }
        guard bytes.count == Int(size) else { throw otherSize(object, size) }
        state.withLock { $0.small.insert(object, bytes, cost: bytes.count + Self.overhead) }
        return bytes
    }

    private func large(_ object: ObjectID, _ size: Int64) throws(StoreError) -> ObjectContent {
        if let open = state.withLock({ $0.large.value(of: object) }) {
            let status = try open.currentStatus()
            if let verdict = verdict(on: object, status) { return try content(open, verdict, size) }
        }
        // Not open yet, or changed: what stands in its place now counts.
        guard let reader = try store.open(object) else { throw missing(object) }
        let open = OpenObject(reader)
        state.withLock { $0.large.insert(object, open, cost: 1) }
        let status = try open.currentStatus()
        if let verdict = verdict(on: object, status) { return try content(open, verdict, size) }
        guard status.byteCount == size else { throw otherSize(object, size) }
        guard size <= Int64(limits.verifiedAtOnce) else { return .unverified(open) }
        return try content(open, inspect(open, status), size)
    }

    private func verdict(on object: ObjectID, _ status: FileStatus) -> Verdict? {
        guard let verdict = state.withLock({ $0.verdicts.value(of: object) }),
            verdict.status.isUnchanged(since: status)
        else { return nil }
        return verdict
    }

    private func content(
        _ open: OpenObject, _ verdict: Verdict, _ size: Int64
    ) throws(StoreError) -> ObjectContent {
        guard let failure = verdict.failure else {
            guard verdict.status.byteCount == size else { throw otherSize(open.address, size) }
            return .file(open)
        }
        state.withLock { state in
            // A sound file may take the place of this one.
            state.large.remove(open.address)
            // A disk that failed is asked again the next time.
            if failure.code != .damagedObject { state.verdicts.remove(open.address) }
        }
        throw failure
    }

    package func verify(_ object: OpenObject, then: @escaping @Sendable () -> Void) {
        verifying.add(
            object,
            run: { open in
                // A file without a status: `content` meets the same error, and tells it.
                guard let status = try? open.currentStatus() else { return }
                _ = self.inspect(open, status)
            }, then: then)
    }

    /// Reads a file whose status was just taken, and notes how it was found.
    ///
    /// What is written meanwhile gives the file another status, which the verdict is not about.
    private func inspect(_ open: OpenObject, _ status: FileStatus) -> Verdict {
        var verdict = Verdict(status: status, failure: nil)
        do throws(StoreError) {
            try open.verify()
        } catch {
            verdict.failure = error
        }
        let noted = verdict
        state.withLock { $0.verdicts.insert(open.address, noted, cost: 1) }
        return noted
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
