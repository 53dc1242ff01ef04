import CASStore
import Storage
import VersionTree

// What the log says, as far as it can be read.
extension OriginAudit {
    /// What the origin is; `nil` if the log does not tell.
    func readLog() throws(StoreError) -> OriginState? {
        let result = try LogAudit(storage, tags).run()
        report.findings += result.findings
        report.strays = report.strays + result.strays
        report.entryCount = result.entryCount
        let seen = try LogCopy.pointer(.stable).read(from: storage)
        var hint = seen.pointer?.log ?? 0
        do throws(StoreError) {
            // What follows a gap says more than what stands before it; of a copy that was cut short it says nothing.
            if !result.findings.isEmpty, try !log.has(hint),
                try log.has(hint > 0 ? result.last : 1)
            {
                hint = result.last
            }
            if let state = try log.state(from: hint) { return state }
            // The gap that its entries leave is a finding already.
            if result.entryCount > 0 { return try standing() }
            if storage.listsAll, seen.pointer?.log == nil {
                let state = try standing()
                if !state.pointers.isEmpty || !report.findings.isEmpty { return state }
            }
            try noteAbsence(seen.pointer?.log)
            return report.absence == nil ? try standing() : nil
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            if !report.findings.contains(where: { $0.message == error.message }) {
                try found(.damagedEntry, nil, error.message)
            }
            if let state = try salvaged(hint) { return state }
            return try standing()
        }
    }

    /// What the origin is by its newest entry, with devices' copies of those pointers that the log has lost; `nil` if that
    /// entry cannot be read.
    private func salvaged(_ hint: Int64) throws(StoreError) -> OriginState? {
        func entry(_ number: Int64) throws(StoreError) -> LogEntry? {
            try ReleaseFiles.ifSound { () throws(StoreError) in try log.reading(number)?.entry }
        }
        let number = try ReleaseFiles.ifSound { () throws(StoreError) in try log.end(from: hint) }
        guard let number, let newest = try entry(number) else { return nil }
        var pointers: [ChannelName: ChannelPointer] = [:]
        for (channel, place) in newest.channels {
            let logged = try entry(place)?.pointers[channel]
            let copied = logged == nil ? try LogCopy.pointer(channel).read(from: storage) : nil
            pointers[channel] = logged ?? copied?.pointer
            if logged == nil, let there = copied?.pointer, (there.log ?? 1) != place {
                try found(
                    .foreignPointer, OriginLayout.pointer(channel),
                    "it is that of entry \(there.log ?? 1), and the log's stands in entry \(place), which is lost and may "
                        + "have been a withdrawal: restore that entry, or look what the channel should offer, and "
                        + "publish or withdraw again")
            }
        }
        return OriginState(number: number, entry: newest, pointers: pointers)
    }

    /// What an origin is that has no log: what its pointers say.
    private func standing() throws(StoreError) -> OriginState {
        try OriginState(standingIn: storage) { channel in
            report.findings.append(
                OriginFinding(
                    .damagedPointer, OriginLayout.pointer(channel),
                    "it is no pointer, and devices are refused: restore it, or publish to the channel again"
                ))
        }
    }

    /// Says that there is no log: a finding if there was one.
    /// - Throws: `.noOrigin`, but not to those who only want to know what a store can do.
    private func noteAbsence(_ entry: Int64?) throws(StoreError) {
        let absence = try OriginTraces(of: storage).absence(namedBy: entry)
        guard absence.code == .damagedOrigin else {
            guard options.isProbing else { throw absence }
            report.absence = absence.message
            return
        }
        try found(.missingEntry, OriginLayout.logEntry(1), absence.message)
    }
}
