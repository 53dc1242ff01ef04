public import CASStore
import StrictJSON
import Synchronization
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

/// The lines at the end of a log, last first, with their offsets; a torn or foreign line has no entry, an empty one is
/// skipped.
func lastLines(of tail: [UInt8]) -> some Sequence<(start: Int, entry: EventLogEntry?)> {
    sequence(state: tail[...]) { rest in
        guard let end = rest.lastIndex(where: { $0 != 10 }) else { return nil }
        let line = rest[...end]
        let start = line.lastIndex(of: 10).map { $0 + 1 } ?? line.startIndex
        rest = line[..<start]
        return (start, EventLogEntry(line: Array(line[start...])))
    }
}

/// A run of equal answers of an origin, which share one line of the event log.
struct PollRun {
    /// Where the line of the earlier answers begins; whatever follows it belongs to the run.
    let start: Int
    /// The number of answers, including the new one, and the time of the first.
    let times: Int
    let since: Int64
    /// The line's number; `nil` for a new one, if the run replaces later lines, whose numbers must not be used twice.
    let sequence: Int64?

    /// Returns nil unless `entry` is the same answer again.
    init?(endOf tail: [UInt8], goesOnWith entry: EventLogEntry) {
        guard let outcome = entry.event.answer else { return nil }
        var isLast = true
        for (start, last) in lastLines(of: tail) {
            guard let last else { return nil }
            if last.event.name == "retry", outcome.isFailure {
                // The request was retried in vain, as before.
                isLast = false
                continue
            }
            guard last.event.saysTheSame(as: entry.event), entry.at >= last.at,
                last.at >= EventLogEntry.clockIsSetFrom || entry.at < EventLogEntry.clockIsSetFrom
            else { return nil }
            self.start = start
            times = last.times + 1
            since = last.since ?? last.at
            sequence = isLast ? last.sequence : nil
            return
        }
        return nil
    }
}

extension EventLogEntry {
    /// Before this time, 2020-01-01, a clock was not set; a period that begins earlier has an unknown length.
    package static let clockIsSetFrom: Int64 = 1_577_836_800
}

extension StoreEvent {
    /// Whether two checks of an origin gave the same result; numbers in an error may differ.
    fileprivate func saysTheSame(as other: StoreEvent) -> Bool {
        guard let isFailure = answer?.isFailure else { return false }
        // As logged, without what the log omits.
        return zip(members, other.members).allSatisfy { mine, theirs in
            mine == theirs
                || isFailure && mine.key == "reason" && theirs.key == "reason"
                    && mine.value.asString?.filter { !$0.isNumber }
                        == theirs.value.asString?.filter { !$0.isNumber }
        } && members.count == other.members.count
    }
}

/// Consecutive requests to an origin without a useful answer.
struct Silence {
    private let origin: String
    /// Their number, and the time of the first.
    private var failures = 0
    private var since: Int64 = 0
    private let time: Int64

    /// Returns nil unless an origin now answers after failures.
    /// - Parameter origin: the one that answers, as the log spells it.
    init?(endOf tail: [UInt8], origin: String?, until time: Int64) {
        guard let origin else { return nil }
        (self.origin, self.time) = (origin, time)
        lines: for (_, line) in lastLines(of: tail) {
            guard let line, let outcome = line.event.answer, line.event.text("origin") == origin
            else { continue }
            switch outcome {
            case .offline, .failed:
                // A failure of the store says nothing about the origin.
                if line.event.failure?.isOfStore == true { continue }
                failures += line.times
                since = line.since ?? line.at
            case .nothingNew, .available, .refused: break lines
            }
        }
        if failures == 0 { return nil }
    }

    var end: StoreEvent {
        let isClockSet =
            since >= EventLogEntry.clockIsSetFrom || time < EventLogEntry.clockIsSetFrom
        return .answering(
            origin: origin, failures: failures,
            seconds: isClockSet && time >= since ? time - since : nil)
    }
}

extension StoreEvent {
    /// As the log spells it; `nil` if this is no answer.
    var answeringOrigin: String? {
        answer.map(\.isFailure) == false ? text("origin") : nil
    }
}

extension [EventLogEntry] {
    /// The same events, with times that agree with their order, none of them in the future.
    ///
    /// A clock may have been wrong for some lines; the order of the lines is right. The longest increasing series of
    /// times up to now is believed, and every other time becomes the next believed one, or now. Times of a clock that
    /// was not yet set stay, and do not affect the others.
    package func believed(until now: Int64) -> [EventLogEntry] {
        // A line for several events has two times: of the first and of the last.
        var times = flatMap { entry in (entry.since.map { [$0] } ?? []) + [entry.at] }
        /// Where series of each length end: of those of one length, the one with the smallest last time.
        var ends: [Int] = []
        var previous = [Int?](repeating: nil, count: times.count)
        for (place, time) in times.enumerated()
        where time >= EventLogEntry.clockIsSetFrom && time <= now {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if times[ends[middle]] <= time { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[place] = ends[low - 1] }
            if low == ends.count { ends.append(place) } else { ends[low] = place }
        }
        var believed = ends.last
        var next = now
        for place in times.indices.reversed() {
            if place == believed {
                next = times[place]
                believed = previous[place]
            } else if times[place] >= EventLogEntry.clockIsSetFrom {
                times[place] = next
            }
        }
        var place = 0
        return map { entry in
            var entry = entry
            if entry.since != nil {
                entry.since = times[place]
                place += 1
            }
            entry.at = times[place]
            place += 1
            return entry
        }
    }
}
