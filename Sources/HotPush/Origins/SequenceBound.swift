package import CASStore
import VersionTree

/// The largest sequence that a device remembers.
///
/// Sequences begin as times and grow by one. One far ahead of all times does not come from counting, and remembering
/// it would end all updates. The bound counts from the latest time known here, so that a clock which begins in 1970
/// at every start does not make every sequence look wrong.
package struct SequenceBound {
    /// How far ahead of the time a sequence may be: a year of seconds.
    static let lead: Int64 = 365 * 86_400
    /// How far ahead of the time an unsigned sequence may be: a day.
    ///
    /// Otherwise anybody who can write to an origin once, or answer for it, could end all updates for a year.
    static let unsignedLead: Int64 = 86_400
    /// The end of the year 9999; a larger number is no time.
    package static let timeMax: Int64 = 253_402_300_799

    private let versions: VersionStore
    private let now: @Sendable () -> Int64

    init(_ versions: VersionStore, now: @escaping @Sendable () -> Int64) {
        self.versions = versions
        self.now = now
    }

    /// Larger than any time or sequence that comes from counting, whatever a clock says.
    package static let countMax = timeMax + lead

    /// Whether a sequence can come from counting; any other orders nothing.
    package func allows(_ sequence: Int64) throws(StoreError) -> Bool {
        try allows(sequence, lead: Self.lead)
    }

    func allowsUnsigned(_ sequence: Int64) throws(StoreError) -> Bool {
        try allows(sequence, lead: Self.unsignedLead)
    }

    private func allows(_ sequence: Int64, lead: Int64) throws(StoreError) -> Bool {
        // The rest is read only if the clock alone does not decide.
        if sequence <= now() + lead { return true }
        return try sequence <= latestTime() + lead
    }

    /// Whether a sequence signed by trusted keys may be remembered: as ``allows(_:)``, if something here tells a time.
    ///
    /// A device whose clock begins in 1970 learns the time from what it verifies, and must not accept old releases.
    func allowsSigned(_ number: Int64) throws(StoreError) -> Bool {
        if number <= now() + Self.lead { return true }
        let time = try latestTime()
        return number <= (time < EventLogEntry.clockIsSetFrom ? Self.timeMax : time) + Self.lead
    }

    /// Whether a clock alone allows a number, for callers without a store.
    package static func allows(_ number: Int64, at now: Int64) -> Bool {
        number <= (now < EventLogEntry.clockIsSetFrom ? timeMax : now) + lead
    }

    private func latestTime() throws(StoreError) -> Int64 {
        var times = [now()]
        for (row, _) in try versions.store.versionRows() { times.append(row.createdAt) }
        // An unreadable event log tells no time, and must not stop a pull.
        for entry in (try? EventLog(versions).entries()) ?? [] { times.append(entry.at) }
        return times.filter { $0 <= Self.timeMax }.max() ?? 0
    }
}
