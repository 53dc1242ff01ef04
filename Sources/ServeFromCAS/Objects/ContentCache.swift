package import CASStore
import Synchronization
package import WebServer

/// The objects of a store, as a server sends them: a few small ones from memory, all others from files
/// that are kept open.
///
/// Bytes are verified against their address when they enter memory. A
/// file is read and verified before it is served for the first time, and again when its size, its
/// times or the file itself have changed since; fstat(2) says so before each use. Up to
/// ``Limits/verifiedAtOnce`` bytes that happens in passing, larger ones are read on another thread.
/// A file that does not match stays refused, without being read again, until it changes. Where an object
/// cannot be had, a file that should have its bytes takes its place (``ObjectCopies``), verified likewise.
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

    struct State {
        var store: Store
        var small: RecentlyUsed<[UInt8]>
        var opened: RecentlyUsed<Opened>
        /// Of files that are not open any more, or were found wrong.
        var verdicts: RecentlyUsed<Verdicts>
        /// Counts small objects that were not in memory.
        var missed = 0
        /// Objects of which was told that another file takes their place.
        var replaced: Set<ObjectID> = []
    }

    /// A file that is kept open.
    struct Opened: Sendable {
        var object: OpenObject
        /// What it was when its bytes were found to match; `nil` if nobody has looked.
        var sound: FileStamp?
    }

    /// Once memory has been full, one of so many objects that are asked for and not in it gets in.
    ///
    /// A site larger than the memory would else read and verify something for every request.
    private static let rarity = 256
    /// What an entry costs beside its bytes: the array's header, the table's place for it.
    private static let overhead = 160

    let limits: Limits
    /// Who knows other files with the bytes of an object.
    let copies: (any ObjectCopies)?
    let state: Mutex<State>
    private let verifying = VerifyingQueue()

    package init(
        _ store: Store, limits: Limits = Limits(), copies: (any ObjectCopies)? = nil
    ) {
        self.limits = limits
        self.copies = copies
        state = Mutex(
            State(
                store: store,
                small: RecentlyUsed(limit: limits.memory),
                opened: RecentlyUsed(limit: limits.openFiles),
                verdicts: RecentlyUsed(limit: limits.verdicts)))
    }

    package func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        let known = known(object, size)
        do throws(StoreError) {
            switch known {
            case .bytes(let bytes):
                guard bytes.count == Int(size) else { throw otherSize(object, size) }
                return .memory(bytes)
            case .opened(let opened):
                let stamp = try opened.object.currentStamp()
                if opened.sound == stamp {
                    guard stamp.byteCount == size else { throw otherSize(object, size) }
                    return .file(opened.object)
                }
                // Changed, or still to be verified: what stands in its place now counts.
                return try open(object, size)
            case .mayEnter: return .memory(try small(object, size))
            case .nothing: return try open(object, size)
            }
        } catch {
            return try copy(of: object, size, mayEnter: known.mayEnter, insteadOf: error)
        }
    }

    /// What is at hand of an object.
    private enum Known {
        case bytes([UInt8])
        case opened(Opened)
        /// It is small and not in memory, and may get in.
        case mayEnter
        case nothing

        var mayEnter: Bool { if case .mayEnter = self { true } else { false } }
    }

    private func known(_ object: ObjectID, _ size: Int64) -> Known {
        state.withLock { state in
            if size <= Int64(limits.smallByteCount) {
                if let bytes = state.small.value(of: object) { return .bytes(bytes) }
                state.missed &+= 1
                let hasRoom =
                    !state.small.wasFull && state.small.hasRoom(Int(size) + Self.overhead)
                if hasRoom || state.missed % Self.rarity == 0 { return .mayEnter }
            }
            return state.opened.value(of: object).map { .opened($0) } ?? .nothing
        }
    }

    private var store: Store { state.withLock { $0.store } }

    /// Reads from another store from now on; what is in memory has the same bytes there.
    func move(to store: Store) {
        state.withLock { state in
            state.store = store
            state.replaced = []
        }
        close { _ in false }
    }

    private func small(_ object: ObjectID, _ size: Int64) throws(StoreError) -> [UInt8] {
        // Two threads may read the same object; both reads are right, and no lock is held.
        guard let bytes = try store.read(object, limit: limits.smallByteCount) else {
            throw missing(object)
        }
        guard bytes.count == Int(size) else { throw otherSize(object, size) }
        enter(object, bytes)
        return bytes
    }

    /// Keeps verified bytes in memory.
    func enter(_ object: ObjectID, _ bytes: [UInt8]) {
        state.withLock { state in
            _ = state.small.insert(object, bytes, cost: bytes.count + Self.overhead)
        }
    }

    /// Opens an object's file, and verifies it if it is not known as it is now.
    private func open(_ object: ObjectID, _ size: Int64) throws(StoreError) -> ObjectContent {
        guard let reader = try store.open(object) else {
            // What was collected must not keep its place on the disk by being open here.
            state.withLock { $0.opened.remove(object) }
            throw missing(object)
        }
        let open = OpenObject(reader)
        let stamp = try open.currentStamp()
        let verdict = keep(open, stamp)
        if let verdict { return try content(open, verdict, size) }
        guard stamp.byteCount == size else { throw otherSize(object, size) }
        guard size <= Int64(limits.verifiedAtOnce) else { return unverified(open) }
        return try content(open, inspect(open, stamp), size)
    }

    /// Keeps a file open, instead of one that was opened before.
    /// - Returns: what is known of it as it is now.
    func keep(_ open: OpenObject, _ stamp: FileStamp) -> Verdict? {
        state.withLock { state in
            let object = open.address
            var verdict = state.verdicts.value(of: object)?[stamp]
            if verdict == nil, state.opened.value(of: object)?.sound == stamp {
                verdict = Verdict(stamp: stamp, failure: nil)
            }
            let isSound = verdict != nil && verdict?.failure == nil
            let opened = Opened(object: open, sound: isSound ? stamp : nil)
            let gone = state.opened.insert(object, opened, cost: 1)
            if let gone, let sound = gone.sound {
                state.note(Verdict(stamp: sound, failure: nil), on: gone.object.address)
            }
            if isSound { state.forget(stamp, of: object) }
            return verdict
        }
    }

    private func content(
        _ open: OpenObject, _ verdict: Verdict, _ size: Int64
    ) throws(StoreError) -> ObjectContent {
        guard let failure = verdict.failure else {
            guard verdict.stamp.byteCount == size else { throw otherSize(open.address, size) }
            return .file(open)
        }
        state.withLock { state in
            // A sound file may take the place of this one.
            state.opened.remove(open.address)
        }
        throw failure
    }

    func unverified(_ object: OpenObject) -> ObjectContent {
        .unverified { then in self.verify(object, then: then) }
    }

    private func verify(_ object: OpenObject, then: @escaping @Sendable () -> Void) {
        verifying.add(
            object,
            run: { open in
                // A file without a status: `content` meets the same error, and tells it.
                guard let stamp = try? open.currentStamp() else { return }
                _ = self.inspect(open, stamp)
            }, then: then)
    }

    /// Reads a file whose status was just taken, and notes how it was found.
    ///
    /// What is written meanwhile gives the file another status, which the verdict is not about.
    func inspect(_ open: OpenObject, _ stamp: FileStamp) -> Verdict {
        var verdict = Verdict(stamp: stamp, failure: nil)
        do throws(StoreError) {
            try open.verify()
        } catch {
            verdict.failure = error
        }
        let noted = verdict
        if noted.failure == nil { tellIfCopy(open) }
        state.withLock { state in
            let isOpen = state.opened.value(of: open.address)?.object === open
            if isOpen, noted.failure == nil {
                state.opened.update(open.address) { $0.sound = stamp }
                state.forget(stamp, of: open.address)
            } else {
                state.note(noted, on: open.address)
            }
        }
        return noted
    }

    /// Closes files: those that are gone from the store and are only kept on disk by being open, and
    /// those that `isNeeded` does not name.
    ///
    /// What is being sent goes on. What was found of a file is remembered, should it be asked for again.
    func close(unless isNeeded: (ObjectID) -> Bool = { _ in true }) {
        let opened = state.withLock { $0.opened.values }
        // The system is asked without the lock: loops need it for every object.
        for each in opened where !isNeeded(each.object.address) || each.object.isRemoved {
            state.withLock { state in
                let address = each.object.address
                // Another file may have come in its place.
                guard state.opened.peek(address)?.object === each.object else { return }
                state.opened.remove(address)
                guard let sound = each.sound else { return }
                state.note(Verdict(stamp: sound, failure: nil), on: address)
            }
        }
    }

    /// Files that are kept open.
    var openCount: Int { state.withLock { $0.opened.count } }

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
