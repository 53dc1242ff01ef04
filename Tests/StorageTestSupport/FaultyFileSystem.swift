import Synchronization

/// A disk that fails on request: forwards to ``POSIXFileSystem``, counts and records every
/// operation, throws a given errno at the n-th call, or stops everything after n calls.
///
/// ```swift
/// let disk = FaultyFileSystem()
/// let versions = try VersionStore.open(path, options: options, fileSystem: disk)
/// disk.arm(.fail(28, at: 3, of: [.write]))   // the third write from here on meets a full disk
/// ```
///
/// SQLite reaches the disk by itself; but for the syncs of its file, what it does is not seen here.
package final class FaultyFileSystem: FileSystemWrapper {
    /// What goes wrong, and when.
    ///
    /// Operations are counted from 1, from the moment it is armed.
    package struct Fault: Sendable, CustomStringConvertible {
        package enum Kind: Sendable { case fail, tear, stop, refuseChanges }
        package var kind: Kind
        var errno: Int32
        var position: Int
        var verbs: Set<Verb>
        var path: String
        /// What else must be true of an operation that counts.
        private var fits: (@Sendable (Operation) -> Bool)?

        /// Throws `errno` at the n-th operation that matches, once.
        /// - Parameters:
        ///   - verbs: what counts; by default everything.
        ///   - path: what the operation's path must contain; by default anything.
        package static func fail(
            _ errno: Int32, at position: Int, of verbs: Set<Verb> = Set(Verb.allCases),
            path: String = ""
        ) -> Fault {
            Fault(kind: .fail, errno: errno, position: position, verbs: verbs, path: path)
        }

        /// Writes the first half of the bytes of the n-th write, then throws `errno`, once.
        ///
        /// - Parameter ofAll: count all operations; the n-th must be a write.
        package static func tear(
            _ errno: Int32, at position: Int, path: String = "", ofAll: Bool = false
        ) -> Fault {
            Fault(
                kind: .tear, errno: errno, position: position,
                verbs: ofAll ? Set(Verb.allCases) : [.write], path: path)
        }

        /// Lets n operations happen and none after them, not even the cleaning up: for the disk,
        /// the process is dead from there on.
        package static func stop(
            after position: Int, of verbs: Set<Verb> = Set(Verb.allCases), path: String = ""
        ) -> Fault {
            Fault(kind: .stop, errno: EIO, position: position, verbs: verbs, path: path)
        }

        package var description: String { "\(kind) \(position) (errno \(errno))" }

        /// The same fault, which counts only what also fits.
        package func counting(_ fits: @escaping @Sendable (Operation) -> Bool) -> Fault {
            var fault = self
            fault.fits = fits
            return fault
        }

        fileprivate func matches(_ operation: Operation) -> Bool {
            verbs.contains(operation.verb) && (path.isEmpty || operation.path.contains(path))
                && fits?(operation) ?? true
        }

        /// Throws EROFS at everything that would change the disk, until disarmed.
        package static let refuseChanges = Fault(
            kind: .refuseChanges, errno: EROFS, position: 0, verbs: [], path: "")
    }

    private struct State {
        var fault: Fault?
        var matches = 0
        var firedAt: Operation?
        var hasFired: Bool { firedAt != nil }
        var operations: [Operation] = []
    }

    private let disk = POSIXFileSystem()
    package var base: any FileSystem { disk }
    private let state = Mutex(State())
    private let hook = Mutex<(@Sendable (Timing, Operation) -> Void)?>(nil)
    private let refuse: @Sendable (Operation) -> StoreError?

    /// - Parameter refuse: why an operation does not happen, whatever is armed.
    package init(refuse: @escaping @Sendable (Operation) -> StoreError? = { _ in nil }) {
        self.refuse = refuse
    }

    // MARK: Faults

    /// Arms a fault in place of the one before, and begins to count and to record anew.
    package func arm(_ fault: Fault) { state.withLock { $0 = State(fault: fault) } }

    /// Lets everything happen from here on.
    package func disarm() { state.withLock { $0.fault = nil } }

    /// Whether the armed fault has happened.
    package var hasFired: Bool { firedAt != nil }

    /// The operation that failed, or the last one before everything stopped.
    package var firedAt: Operation? { state.withLock { $0.firedAt } }

    /// Every operation since the fault was armed (or since the beginning), in order.
    package var operations: [Operation] { state.withLock { $0.operations } }

    /// The operations as text, one a line: what a failing test prints.
    package var trace: String {
        operations.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: "\n")
    }

    /// When a hook is called: just before an operation happens, or just after it succeeded.
    package enum Timing: Sendable { case before, after }

    /// Calls `body` at every operation, on the thread that asks for it: the place for what another
    /// process does at that very moment.
    ///
    /// What `body` does on this disk calls it, too.
    package func onEach(_ body: (@Sendable (Timing, Operation) -> Void)?) {
        hook.withLock { $0 = body }
    }

    /// Calls `body` once, at an operation that matches: the first, or a later one.
    package func on(
        _ timing: Timing, _ verb: Verb, path: String, occurrence: Int = 1,
        _ body: @escaping @Sendable () -> Void
    ) {
        let counter = Counter()
        onEach { [weak self] now, operation in
            guard now == timing, operation.verb == verb, operation.path.contains(path),
                counter.next() == occurrence
            else { return }
            self?.onEach(nil)
            body()
        }
    }

    private final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        func next() -> Int { value.add(1, ordering: .relaxed).newValue }
    }

    private enum Verdict { case go, throwing(Int32), tearing(Int32) }

    private func judge(_ operation: Operation) -> Verdict {
        state.withLock { state in
            state.operations.append(operation)
            guard let fault = state.fault else { return .go }
            switch fault.kind {
            case .refuseChanges:
                guard operation.changesDisk else { return .go }
                state.firedAt = operation
                return .throwing(fault.errno)
            case .stop where state.hasFired:
                return .throwing(fault.errno)
            default: break
            }
            if fault.kind == .stop, fault.position == 0 {
                state.firedAt = operation
                return .throwing(fault.errno)
            }
            guard fault.matches(operation) else { return .go }
            state.matches += 1
            switch fault.kind {
            case .stop:
                // This one still happens; whatever comes next does not.
                if state.matches == fault.position { state.firedAt = operation }
                return .go
            case .fail, .tear:
                guard state.matches == fault.position else { return .go }
                state.firedAt = operation
                return fault.kind == .tear ? .tearing(fault.errno) : .throwing(fault.errno)
            case .refuseChanges: return .go
            }
        }
    }

    private func fullPath(_ directory: Int32, _ path: UnsafePointer<CChar>?) -> String {
        guard let path else { return disk.path(of: directory) }
        let name = String(cString: path)
        let isWhole = name.hasPrefix("/") || directory == POSIXFileSystem.workingDirectory
        return isWhole ? name : disk.path(of: directory) + "/" + name
    }

    private func perform<R: ~Copyable>(
        _ verb: Verb, _ directory: Int32, _ path: UnsafePointer<CChar>? = nil,
        access: Access? = nil, from source: (Int32, UnsafePointer<CChar>)? = nil,
        torn: (() throws(StoreError) -> Void)? = nil,
        doing body: @autoclosure () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let operation = Operation(
            verb: verb, path: fullPath(directory, path),
            name: path.map { String(cString: $0) } ?? "",
            source: source.map { fullPath($0, $1) }, access: access)
        if let hook = hook.withLock({ $0 }) { hook(.before, operation) }
        if let error = refuse(operation) { throw error }
        switch judge(operation) {
        case .go:
            let result = try body()
            if let hook = hook.withLock({ $0 }) { hook(.after, operation) }
            return result
        case .throwing(let number):
            throw StoreError(systemCall: verb.call, errno: number, path: operation.path)
        case .tearing(let number):
            // Threads may meet in another order than in the run that was counted: then it just fails.
            try torn?()
            throw StoreError(systemCall: verb.call, errno: number, path: operation.path)
        }
    }

    // MARK: FileSystem

    package func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        try perform(
            .open, directory, path, access: access,
            doing: disk.open(directory, path, access, mode: mode))
    }

    package func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        try perform(.read, file, doing: disk.read(file, into: buffer, at: offset))
    }

    package func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let half = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
        try perform(
            .write, file,
            torn: { () throws(StoreError) in try self.disk.write(file, half) },
            doing: disk.write(file, bytes))
    }

    package func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError) {
        let half = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
        try perform(
            .write, file,
            torn: { () throws(StoreError) in try self.disk.write(file, half, at: offset) },
            doing: disk.write(file, bytes, at: offset))
    }

    package func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError) {
        try perform(.truncate, file, doing: disk.truncate(file, to: byteCount))
    }

    package func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        try perform(.reserve, file, doing: disk.reserve(file, byteCount))
    }

    package func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try perform(.setMode, file, doing: disk.setMode(file, mode))
    }

    package func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try perform(.setMode, directory, path, doing: disk.setMode(directory, path, mode))
    }

    package func sync(_ file: Int32) throws(StoreError) {
        try perform(.sync, file, doing: disk.sync(file))
    }

    package func sync(
        _ directory: Int32, _ path: UnsafePointer<CChar>,
        by library: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try perform(.sync, directory, path, doing: disk.sync(directory, path, by: library))
    }

    package func syncAll(_ file: Int32) throws(StoreError) -> Bool {
        try perform(.syncAll, file, doing: disk.syncAll(file))
    }

    package func status(_ file: Int32) throws(StoreError) -> FileStatus {
        try perform(.status, file, doing: disk.status(file))
    }

    package func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        try perform(.status, directory, path, doing: disk.status(directory, path))
    }

    package func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try perform(
            .link, target, targetPath, from: (source, sourcePath),
            doing: disk.link(source, sourcePath, to: target, targetPath))
    }

    package func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try perform(
            .rename, target, targetPath, from: (source, sourcePath),
            doing: disk.rename(source, sourcePath, to: target, targetPath))
    }

    package func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try perform(
            .renameNew, target, targetPath, from: (source, sourcePath),
            doing: disk.renameNew(source, sourcePath, to: target, targetPath))
    }

    package func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try perform(
            .remove, directory, path, doing: disk.remove(directory, path, directory: isDirectory))
    }

    package func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try perform(
            .makeDirectory, directory, path, doing: disk.makeDirectory(directory, path, mode: mode))
    }

    package func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try perform(
            .makeSymbolicLink, directory, path,
            doing: disk.makeSymbolicLink(directory, path, to: target))
    }

    package func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        try perform(.symbolicLink, directory, path, doing: disk.symbolicLink(directory, path))
    }

    package func list(
        _ directory: Int32, once: Bool,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try perform(.list, directory, doing: disk.list(directory, once: once, body))
    }

    package func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        try perform(.clone, target, doing: disk.clone(source, to: target))
    }

    package func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        try perform(.lock, file, doing: disk.lock(file, exclusive: exclusive))
    }

    package func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        try perform(.freeSpace, file, doing: disk.freeSpace(file))
    }
}
