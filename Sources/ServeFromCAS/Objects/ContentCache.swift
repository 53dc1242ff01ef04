package import CASStore
import Synchronization
package import WebServer

/// The objects of a store or an origin, as a server sends them: a few small ones from memory, all others from files
/// that stay open.
///
/// Bytes are verified against their address when they enter memory. A file is read and verified before it is first
/// served, and again if fstat(2), called before each use, shows another size, time or file. Up to
/// ``Limits/verifiedAtOnce`` bytes this happens on the calling thread; larger files are read on another one. A file
/// that does not match stays refused, without being read again, until it changes. If an object cannot be read, a file
/// that should have its bytes replaces it (``ObjectCopy``), verified in the same way.
///
/// **Limits.** After verification, bytes that change without the file's times changing go unnoticed: a failing disk
/// or RAM, a write to the device beneath the file system. So does a write between the check and the sending.
/// `castree fsck` reads everything.
package final class ContentCache: ObjectSource {
    package struct Limits: Sendable {
        package var smallByteCount = 32 << 10
        /// Bytes of all objects in memory.
        package var memory: Int
        package var openFiles: Int
        /// Objects up to this many bytes are verified on the thread that asks: a millisecond where no instruction of
        /// the processor hashes, a tenth of that elsewhere.
        package var verifiedAtOnce = 128 << 10
        package var verdicts = 16_384

        /// Defaults for this process: nearly half of the files it may have open; if those are few, more memory instead.
        ///
        /// Connections take the other half. What remains is the store's, the pulls' and the runtime's, which ends the
        /// process if it gets none.
        package init() {
            openFiles = min(16_384, max(8, FileLimit.current / 2 - 112))
            memory = FileLimit.current / 2 >= 4096 ? 512 << 10 : 16 << 20
        }
    }

    struct State {
        var store: any ObjectFiles
        var small: RecentlyUsed<ObjectID, [UInt8]>
        var opened: RecentlyUsed<ObjectID, Opened>
        /// For files that are no longer open, or were found wrong.
        var verdicts: RecentlyUsed<ObjectID, FileVerdicts>
        var missed = 0
        var replaced: Set<ObjectID> = []
    }

    struct Opened: Sendable {
        var object: OpenObject
        /// Its stamp when its bytes were found to match; `nil` if nobody has checked.
        var sound: FileStamp?
    }

    /// Once memory is full, one in this many objects enters it; else large sites would verify one for every request.
    private static let rarity = 256
    /// The cost of an entry besides its bytes: the array's header and its place in the table.
    private static let overhead = 160

    let limits: Limits
    /// Finds other files that should have the bytes of an object, the likeliest first.
    private let copies: @Sendable (ObjectID) -> [ObjectCopy]
    private let replaced: @Sendable (_ failure: StoreError, _ copy: String) -> Void
    let state: Mutex<State>
    private let verifying = VerifyingQueue()

    package convenience init(_ store: any ObjectFiles, limits: Limits = Limits()) {
        self.init(store, limits, copies: { _ in [] }, replaced: { _, _ in })
    }

    init(
        _ store: any ObjectFiles, _ limits: Limits = Limits(),
        copies: @escaping @Sendable (ObjectID) -> [ObjectCopy],
        replaced: @escaping @Sendable (_ failure: StoreError, _ copy: String) -> Void
    ) {
        self.limits = limits
        (self.copies, self.replaced) = (copies, replaced)
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
                // Changed, or not verified yet: the file now in its place counts.
                return try open(object, size)
            case .mayEnter: return .memory(try small(object, size))
            case .nothing: return try open(object, size)
            }
        } catch {
            return try copy(of: object, size, mayEnter: known.mayEnter, insteadOf: error)
        }
    }

    private enum Known {
        case bytes([UInt8])
        case opened(Opened)
        case mayEnter
        case nothing

        var mayEnter: Bool { if case .mayEnter = self { true } else { false } }
    }

    private func known(_ object: ObjectID, _ size: Int64) -> Known {
        state.withLock { state in
            if size <= Int64(limits.smallByteCount) {
                if let bytes = state.small.value(of: object) { return .bytes(bytes) }
                state.missed &+= 1
                let hasSpace =
                    !state.small.wasFull && state.small.hasSpace(Int(size) + Self.overhead)
                if hasSpace || state.missed % Self.rarity == 0 { return .mayEnter }
            }
            return state.opened.value(of: object).map { .opened($0) } ?? .nothing
        }
    }

    private var store: any ObjectFiles { state.withLock { $0.store } }

    /// Reads from another store from now on; the bytes in memory stay valid.
    func move(to store: any ObjectFiles) {
        state.withLock { state in
            state.store = store
            state.replaced = []
        }
        close { _ in false }
    }

    private func small(_ object: ObjectID, _ size: Int64) throws(StoreError) -> [UInt8] {
        // Two threads may read the same object: both reads are right, and neither holds a lock.
        guard let bytes = try store.read(object, limit: limits.smallByteCount) else {
            throw store.missing(object)
        }
        guard bytes.count == Int(size) else { throw otherSize(object, size) }
        enter(object, bytes)
        return bytes
    }

    private func enter(_ object: ObjectID, _ bytes: [UInt8]) {
        state.withLock { state in
            _ = state.small.insert(object, bytes, cost: bytes.count + Self.overhead)
        }
    }

    /// Opens an object's file, and verifies it unless its present state is known.
    private func open(_ object: ObjectID, _ size: Int64) throws(StoreError) -> ObjectContent {
        guard let reader = try store.open(object) else {
            // An open file must not keep a collected object's space on the disk.
            _ = state.withLock { $0.opened.remove(object) }
            throw store.missing(object)
        }
        let open = OpenObject(reader)
        let stamp = try open.currentStamp()
        let verdict = keep(open, stamp)
        if let verdict { return try content(open, verdict, size) }
        guard stamp.byteCount == size else { throw otherSize(object, size) }
        guard size <= Int64(limits.verifiedAtOnce) else { return unverified(open) }
        return try content(open, inspect(open, stamp), size)
    }

    /// Keeps a file open, in place of the one opened before.
    /// - Returns: what is known of it in its present state.
    private func keep(_ open: OpenObject, _ stamp: FileStamp) -> FileVerdict? {
        state.withLock { state in
            let object = open.address
            var verdict = state.verdicts.value(of: object)?[stamp]
            if verdict == nil, state.opened.value(of: object)?.sound == stamp {
                verdict = FileVerdict(stamp: stamp, failure: nil)
            }
            let isSound = verdict != nil && verdict?.failure == nil
            let opened = Opened(object: open, sound: isSound ? stamp : nil)
            for gone in state.opened.insert(object, opened, cost: 1) {
                guard let sound = gone.sound, gone.object.address != object else { continue }
                state.note(FileVerdict(stamp: sound, failure: nil), on: gone.object.address)
            }
            if isSound { state.forget(stamp, of: object) }
            return verdict
        }
    }

    private func content(
        _ open: OpenObject, _ verdict: FileVerdict, _ size: Int64
    ) throws(StoreError) -> ObjectContent {
        guard let failure = verdict.failure else {
            guard verdict.stamp.byteCount == size else { throw otherSize(open.address, size) }
            return .file(open)
        }
        // A sound file may take its place.
        _ = state.withLock { $0.opened.remove(open.address) }
        throw failure
    }

    private func unverified(_ object: OpenObject) -> ObjectContent {
        .unverified { then in
            self.verifying.add(
                object,
                run: { open in
                    // A file without a status: `content` meets the same error, and reports it.
                    guard let stamp = try? open.currentStamp() else { return }
                    _ = self.inspect(open, stamp)
                }, then: then)
        }
    }

    /// Reads a file and records the verdict, unless a write meanwhile gives it another status.
    private func inspect(_ open: OpenObject, _ stamp: FileStamp) -> FileVerdict {
        var verdict = FileVerdict(stamp: stamp, failure: nil)
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

    /// Closes files that were removed from the store (and exist only because they are open), and those that
    /// `isNeeded` does not name.
    ///
    /// Sending continues. Verdicts are remembered, in case a file is requested again.
    package func close(unless isNeeded: (ObjectID) -> Bool = { _ in true }) {
        let opened = state.withLock { $0.opened.values }
        // The system calls run without the lock, which loops need for every object.
        for each in opened where !isNeeded(each.object.address) || each.object.isRemoved {
            state.withLock { state in
                let address = each.object.address
                // Another file may have taken its place.
                guard state.opened.peek(address)?.object === each.object else { return }
                state.opened.remove(address)
                guard let sound = each.sound else { return }
                state.note(FileVerdict(stamp: sound, failure: nil), on: address)
            }
        }
    }

    var openCount: Int { state.withLock { $0.opened.count } }

    private func otherSize(_ object: ObjectID, _ size: Int64) -> StoreError {
        StoreError(
            .damagedObject,
            "object \(object) does not have the \(size) bytes its version promises; "
                + "run castree fsck --repair", object: object)
    }

    // MARK: Checks before an answer is promised

    /// How often a large file that keeps changing is verified.
    private static let attemptMax = 8

    /// Makes sure that an object can be sent; may read all of it, so no loop calls this.
    /// - Throws: why it cannot, as sending it would.
    package func verify(_ object: ObjectID, size: Int64) throws(StoreError) {
        for _ in 0..<Self.attemptMax {
            guard case .unverified(let verify) = try content(of: object, size: size) else { return }
            let isDone = Monitor(false)
            verify { isDone.change { $0 = true } }
            isDone.wait(until: { $0 }) { _ in }
        }
    }

    /// Whether a sendable object up to a limit contains a text; no loop calls this either.
    func mentions(_ text: some StringProtocol, _ object: ObjectID, size: Int64) -> Bool {
        guard size <= Self.searchedByteCountMax else { return false }
        do throws(StoreError) {
            let bytes: [UInt8]
            switch try content(of: object, size: size) {
            case .memory(let held): bytes = Array(held)
            case .file(let file as OpenObject): bytes = try file.verifiedBytes()
            case .file, .unverified: return false
            }
            return bytes.contains(Array(text.utf8))
        } catch {
            // Sending it reports why it cannot be sent.
            return false
        }
    }

    private static let searchedByteCountMax: Int64 = 1 << 20

    // MARK: Replacements for objects that are missing or do not match their address

    private static let toldMax = 1000

    /// The content of another file with an object's bytes, verified as the object would be.
    /// - Throws: `failure` if there is none.
    private func copy(
        of object: ObjectID, _ size: Int64, mayEnter: Bool, insteadOf failure: StoreError
    ) throws(StoreError) -> ObjectContent {
        for copy in copies(object).prefix(ObjectCopy.triedMax) {
            // Skip a copy that cannot be read: the error to report is the object's.
            guard let reader = try? copy.open() else { continue }
            let open = OpenObject(reader, OpenObject.Copied(name: copy.name, failure: failure))
            guard let stamp = try? open.currentStamp(), stamp.byteCount == size else { continue }
            if mayEnter {
                // Small: read whole and kept in memory, as the object would be.
                guard let bytes = try? open.verifiedBytes() else { continue }
                enter(object, bytes)
                tellIfCopy(open)
                return .memory(bytes)
            }
            let known = state.withLock { $0.verdicts.value(of: object)?[stamp] }
            guard known?.failure == nil else { continue }
            let verdict = keep(open, stamp)
            if verdict == nil, size > Int64(limits.verifiedAtOnce) { return unverified(open) }
            guard (verdict ?? inspect(open, stamp)).failure == nil else {
                _ = state.withLock { $0.opened.remove(object) }
                continue
            }
            tellIfCopy(open)
            return .file(open)
        }
        // A failed disk is read again next time, not at once, or a waiting request would wait endlessly.
        state.withLock { $0.forgetFailedReads(of: object) }
        throw failure
    }

    /// Reports, once, an object that another file replaces; up to a limited number.
    private func tellIfCopy(_ open: OpenObject) {
        guard let copied = open.copied else { return }
        let isNews = state.withLock { state in
            state.replaced.count < Self.toldMax && state.replaced.insert(open.address).inserted
        }
        if isNews { replaced(copied.failure, copied.name) }
    }
}

/// A file that should have the bytes of an object.
struct ObjectCopy: Sendable {
    /// How many are tried for an object that cannot be read.
    static let triedMax = 8

    let name: String
    let open: @Sendable () throws(StoreError) -> ObjectReader?
}
