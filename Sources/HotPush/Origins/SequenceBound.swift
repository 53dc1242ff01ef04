import CASStore
import VersionTree

/// The largest sequence that a device remembers.
///
/// Sequences begin as times and grow by one: one far ahead of all times does not come from counting,
/// and remembering it would end all updates. The bound counts from the latest time that anything here
/// knows: a clock that begins in 1970 at every start must not make every sequence look wrong.
package struct SequenceBound {
    /// How far ahead of the time a sequence may be: a year of seconds.
    static let lead: Int64 = 365 * 86_400
    /// How far ahead of the time one may be that nobody has signed: a day.
    ///
    /// Who can write to an origin once, or answers for it, would otherwise end all updates for a year.
    static let unsignedLead: Int64 = 86_400
    /// No time is later than the end of the year 9999: a larger one is no time.
    package static let timeMax: Int64 = 253_402_300_799

    private let versions: VersionStore
    private let now: @Sendable () -> Int64

    init(_ versions: VersionStore, now: @escaping @Sendable () -> Int64) {
        self.versions = versions
        self.now = now
    }

    /// No count of a time or a sequence comes here, whatever a clock says: what is larger was made up.
    static let countMax = timeMax + lead

    /// Whether a sequence can come from counting: one that cannot orders nothing.
    func allows(_ sequence: Int64) throws(StoreError) -> Bool {
        try allows(sequence, lead: Self.lead)
    }

    /// Whether a sequence that nobody has signed may be remembered.
    func allowsUnsigned(_ sequence: Int64) throws(StoreError) -> Bool {
        try allows(sequence, lead: Self.unsignedLead)
    }

    private func allows(_ sequence: Int64, lead: Int64) throws(StoreError) -> Bool {
        // The rest is read only if the clock alone does not decide.
        if sequence <= now() + lead { return true }
        return try sequence <= latestTime() + lead
    }

    /// Whether what trusted keys have signed may be remembered: as ``allows(_:)``, where something here tells a time.
    ///
    /// A device whose clock begins in 1970 learns the time from what it verifies, and must not take an old release for that.
    func allowsSigned(_ number: Int64) throws(StoreError) -> Bool {
        if number <= now() + Self.lead { return true }
        let time = try latestTime()
        return number <= (time < JournalEntry.clockIsSetFrom ? Self.timeMax : time) + Self.lead
    }

    /// Whether a clock that is all there is allows a number, for whoever keeps no store.
    static func allows(_ number: Int64, at now: Int64) -> Bool {
        number <= (now < JournalEntry.clockIsSetFrom ? timeMax : now) + lead
    }

    private func latestTime() throws(StoreError) -> Int64 {
        var times = [now()]
        for (row, _) in try versions.store.versionRows() { times.append(row.createdAt) }
        // A log that cannot be read tells no time, and must not stop a pull.
        for entry in (try? Journal(versions).entries()) ?? [] { times.append(entry.at) }
        return times.filter { $0 <= Self.timeMax }.max() ?? 0
    }
}
