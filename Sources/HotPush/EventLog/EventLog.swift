public import CASStore
internal import StrictJSON
internal import Synchronization
public import VersionTree

/// The event log of a store, from which a user's problem can be explained afterwards.
///
/// `events.jsonl` holds a line of JSON for each event, at most 128 KiB; when it is full it becomes `events.older.jsonl`
/// and a new file begins. Any number of processes may append, one at a time, under the lock `leases/.events`. It is not
/// synced: a power cut may lose the last lines or leave a torn one, which readers skip.
///
/// Repeated equal answers of an origin share one line with their number and the time of the first, so that years of
/// polling do not push out other events. The first answer after failures follows a line with their number.
///
/// Recording never fails, because an operation matters more than its record. Events that cannot be written are counted,
/// and their number precedes the next event.
public final class EventLog: Sendable {
    static let fileByteCountMax = 128 << 10

    private let store: Store
    private let now: @Sendable () -> Int64
    private let lostCount = Atomic<Int>(0)

    /// Opens the log of a store.
    public convenience init(_ versions: VersionStore) {
        self.init(versions, now: { secondsNow() })
    }

    /// For tests; the clock gives seconds since 1970.
    package init(_ versions: VersionStore, now: @escaping @Sendable () -> Int64) {
        store = versions.store
        self.now = now
    }

    private var fileSystem: any FileSystem { store.fileSystem }
    private var directories: StoreDirectories { store.directories }

    /// Events that could not be written and are not yet reported.
    package var lostEventCount: Int { lostCount.load(ordering: .relaxed) }

    /// Other writers need almost no time unless they are stopped, and then the operation matters more than its record.
    private static let timeLimit: Duration = .seconds(5)

    /// Waits at most a few seconds for other writers, and for nothing else.
    package func record(_ event: StoreEvent) {
        do throws(StoreError) {
            try append(event)
        } catch {
            lostCount.add(1, ordering: .relaxed)
        }
    }

    /// Notes that an origin could not be asked, or gave no useful answer; ignores interruptions by the user.
    func record(
        _ error: StoreError, asking origin: String, channel: String? = nil, release: String? = nil
    ) {
        guard error.code != .interrupted else { return }
        record(
            .checked(
                origin: origin, channel: channel, release: release, outcome: CheckOutcome(error),
                version: nil, reason: error.message, failure: EventLogFailure(error)))
    }

    /// Ignores an error that means that the user interrupted the operation.
    package func record(_ error: StoreError, during operation: String) {
        guard error.code != .interrupted else { return }
        record(
            .failed(operation: operation, failure: EventLogFailure(error), message: error.message))
    }

    // MARK: Writing

    private func append(_ event: StoreEvent) throws(StoreError) {
        let lock = try store.openLock(StoreLayout.eventsLock)
        try store.waitForLock(lock.raw, exclusive: true, atMost: Self.timeLimit)
        var file = try openLog()
        let status = try regularStatus(file.raw)
        var byteCount = status.byteCount
        if status.linkCount > 1 {
            byteCount = try part(file.raw, byteCount)
            file = try openLog()
        }
        var tail = try end(of: file.raw, byteCount)
        // The number of the last readable event, in this file or the older one.
        var last = lastLines(of: tail).lazy.compactMap(\.entry).first?.sequence
        if last == nil { last = try read(StoreLayout.olderEvents).last?.sequence }
        let lost = lostCount.load(ordering: .relaxed)
        let time = now()
        var entry = EventLogEntry(sequence: 0, at: time, event: event)
        var sequence = (last ?? 0) + Int64(lost)
        var bytes: [UInt8] = []
        if lost > 0 {
            bytes += EventLogEntry(sequence: sequence, at: time, event: .lost(count: lost)).line
        }
        sequence += 1
        if let silence = Silence(endOf: tail, origin: entry.event.answeringOrigin, until: time) {
            bytes += EventLogEntry(sequence: sequence, at: time, event: silence.end).line
            sequence += 1
        }
        entry.sequence = sequence
        if bytes.isEmpty, let run = PollRun(endOf: tail, goesOnWith: entry),
            try goOn(run, with: entry, in: file.raw, tail, byteCount)
        {
            return
        }
        bytes += entry.line
        if byteCount > 0, byteCount + Int64(bytes.count) > Int64(Self.fileByteCountMax) {
            let root = directories.root.raw
            try fileSystem.rename(root, StoreLayout.events, to: root, StoreLayout.olderEvents)
            file = try openLog()
            byteCount = 0
            tail = []
        }
        // End a line that a power cut has torn, so that it does not spoil the next one.
        if let byte = tail.last, byte != 10 { bytes.insert(10, at: 0) }
        try write(bytes, to: file.raw, at: byteCount, instead: [])
        lostCount.subtract(lost, ordering: .relaxed)
    }

    /// Overwrites the lines of a run of answers; returns `false` if the file is too full.
    ///
    /// A single write, padded with empty lines: a killed process leaves the run as it was or as it is.
    private func goOn(
        _ run: PollRun, with entry: EventLogEntry, in file: Int32, _ tail: [UInt8],
        _ byteCount: Int64
    ) throws(StoreError) -> Bool {
        var entry = entry
        (entry.times, entry.since) = (run.times, run.since)
        entry.sequence = run.sequence ?? entry.sequence
        let line = entry.line
        let before = Array(tail[run.start...])
        let start = byteCount - Int64(before.count)
        let end = start + Int64(line.count)
        guard end <= Int64(Self.fileByteCountMax) else { return false }
        let rest = [UInt8](repeating: 10, count: max(0, before.count - line.count))
        try write(line + rest, to: file, at: start, instead: before)
        // Empty lines are no damage.
        if !rest.isEmpty { try? fileSystem.truncate(file, to: end) }
        return true
    }

    /// - Parameter before: what the range holds now, and is restored if the write fails.
    private func write(
        _ bytes: [UInt8], to file: Int32, at offset: Int64, instead before: [UInt8]
    ) throws(StoreError) {
        do throws(StoreError) {
            try fileSystem.write(file, bytes, at: offset)
        } catch {
            // Half a line is useless. Readers skip it if it cannot be undone.
            if !before.isEmpty { try? fileSystem.write(file, before, at: offset) }
            try? fileSystem.truncate(file, to: offset + Int64(before.count))
            throw error
        }
    }

    private func openLog() throws(StoreError) -> Descriptor {
        let root = directories.root.raw
        if let file = try fileSystem.openIfPresent(root, StoreLayout.events, .changing) {
            return file
        }
        let made = try fileSystem.open(root, StoreLayout.events, .creating, mode: 0o644)
        try fileSystem.setMode(made.raw, 0o644)  // the umask has cut it
        return made
    }

    /// Replaces the log, which is also that of a copy of the store (`cp -al`), by a copy of its end.
    private func part(_ file: Int32, _ byteCount: Int64) throws(StoreError) -> Int64 {
        let count = min(byteCount, Int64(Self.fileByteCountMax))
        let bytes = try fileSystem.read(file, at: byteCount - count, count: Int(count))
        try fileSystem.replaceFile(
            directories.root.raw, StoreLayout.events, with: bytes, token: try randomToken(),
            durably: false)
        return count
    }

    private func regularStatus(_ file: Int32) throws(StoreError) -> FileStatus {
        let status = try fileSystem.status(file)
        guard status.kind == .regular else {
            throw StoreError(.io, "the event log is not a regular file; move it away")
        }
        return status
    }

    /// The end of a file, long enough to hold its last line.
    private func end(of file: Int32, _ byteCount: Int64) throws(StoreError) -> [UInt8] {
        let count = min(byteCount, 16 << 10)
        return try fileSystem.read(file, at: byteCount - count, count: Int(count))
    }

    // MARK: Reading

    /// The events that can still be read, oldest first; needs no lock, and writes nothing.
    ///
    /// - Throws: what reading throws; invalid lines are skipped.
    public func entries() throws(StoreError) -> [EventLogEntry] {
        // Read the newer file first: if it becomes the older one meanwhile, its events are seen twice rather than
        // never.
        let newer = try read(StoreLayout.events)
        let older = try read(StoreLayout.olderEvents)
        let first = newer.first?.sequence ?? .max
        return older.filter { $0.sequence < first } + newer
    }

    private func read(_ name: String) throws(StoreError) -> [EventLogEntry] {
        guard let file = try fileSystem.openIfPresent(directories.root.raw, name, .reading) else {
            return []
        }
        let byteCount = try regularStatus(file.raw).byteCount
        let count = min(byteCount, Int64(2 * Self.fileByteCountMax))
        let bytes = try fileSystem.read(file.raw, at: byteCount - count, count: Int(count))
        return bytes.split(separator: 10).compactMap { EventLogEntry(line: Array($0)) }
    }
}

extension VersionStore {
    /// Returns the same store, which records its operations in the store's event log.
    ///
    /// An existing observer is kept.
    public func recordingEvents() -> VersionStore {
        guard observer == nil else { return self }
        let eventLog = EventLog(self)
        return observed { eventLog.record($0) }
    }
}
