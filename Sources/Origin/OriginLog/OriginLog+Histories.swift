import CASStore
import HotPush
import Storage
import StrictJSON

extension OriginLog {
    /// A channel's history for a system's clients after an entry; `nil` if they were told nothing.
    /// - Parameter copy: the file as found; replaces all entries up to the one that proves it.
    /// - Throws: `.damagedOrigin` if an entry is without what a later one refers to; what reading throws.
    func history(
        _ name: HistoryName, in entry: LogEntry, near copy: HistoryFile? = nil
    ) throws(StoreError) -> HistoryFile? {
        guard let place = entry.clients[name.system]?.histories[name.channel] else { return nil }
        let newest = try rows(of: name, in: place)
        var history = HistoryFile(name, labelCount: newest.labelCount)
        // Newest first.
        var found: [JSONValue] = []
        var dropped: Set<Int64> = []
        var rows = newest
        var number = place
        while true {
            if let copy, copy.log == number, try copy.digest() == rows.digest {
                found += Self.kept(copy.offers, besides: dropped)
                break
            }
            found += Self.kept(rows.offers, besides: dropped)
            dropped.formUnion(rows.dropped)
            guard found.count < newest.count, rows.before > 0 else { break }
            number = rows.before
            rows = try self.rows(of: name, in: number)
        }
        history.offers = found.reversed()
        guard try history.digest() == newest.digest else {
            throw .damagedOrigin(
                "what channel \(name.channel) has offered to the clients of \(name.system) cannot be made again: entry "
                    + "\(place) of the log in \(storage.place), or one before it, has other rows than it says"
            )
        }
        return history
    }

    private static let unprovedCountMax = 16

    /// The newest sound history before an entry's that can be rebuilt; `nil` for none.
    ///
    /// Each one is read from its beginning. So of many, which may be a stranger's, only the newest are looked at, and
    /// those of entries that a trusted key has signed.
    func soundHistory(
        _ name: HistoryName, before entry: LogEntry, near copy: HistoryFile?,
        where isSound: (HistoryFile) -> Bool = { _ in true }
    ) throws(StoreError) -> HistoryFile? {
        var place = entry.clients[name.system]?.histories[name.channel] ?? 0
        var unprovedCount = 0
        while place > 0 {
            do throws(StoreError) {
                place = try rows(of: name, in: place).before
                guard place > 0 else { break }
                let entry = try pastEntry(place)
                if try !isTrusted(entry, place) {
                    unprovedCount += 1
                    guard unprovedCount <= Self.unprovedCountMax else { continue }
                }
                let past = try history(name, in: entry, near: copy)
                if let past, isSound(past) { return past }
            } catch {
                guard Self.saysEntryIsBad(error) else { throw error }
                // Without such rows, the entry names none before them.
                guard try reading(place).map({ $0.entry?.rows[name] != nil }) ?? false else {
                    return nil
                }
            }
        }
        return nil
    }

    /// The history as a trusted key has signed it last, if a stranger may have written newer rows; `nil` for none, or if
    /// nobody can tell.
    func provedHistory(
        _ name: HistoryName, before entry: LogEntry
    ) throws(StoreError) -> HistoryFile? {
        guard trusts != nil, let newest = entry.clients[name.system]?.histories[name.channel]
        else { return nil }
        var place = newest
        while place > 0 {
            let past = try pastEntry(place)
            if try isTrusted(past, place) {
                return place == newest ? nil : try history(name, in: past)
            }
            place = try rows(of: name, in: place).before
        }
        // Keys that were changed have signed no rows yet, but a pointer beside the history of that time.
        guard let signed = entry.channels[name.channel],
            case let past = try pastEntry(signed), try isTrusted(past, signed),
            past.clients[name.system]?.histories[name.channel] != newest
        else { return nil }
        return try history(name, in: past)
    }

    private static func kept(_ offers: [JSONValue], besides dropped: Set<Int64>) -> [JSONValue] {
        offers.reversed().filter { offer in offer.offerTime.map { !dropped.contains($0) } ?? true }
    }

    private func rows(of name: HistoryName, in number: Int64) throws(StoreError) -> HistoryRows {
        let entry = try pastEntry(number)
        guard let rows = entry.rows[name] else {
            throw .damagedOrigin(
                "a later entry of the log in \(storage.place) places rows of channel \(name.channel) for \(name.system) in "
                    + "entry \(number), which has none")
        }
        return rows
    }

    /// The configuration last set for a system, without `log`; `nil` for none.
    /// - Throws: as ``history(_:in:near:)``.
    func configuration(
        of system: AnnouncedSystem, in entry: LogEntry
    ) throws(StoreError) -> JSONValue? {
        guard let place = entry.clients[system]?.configuration else { return nil }
        let past = entry.configurations[system].map { _ in entry }
        let setting = if let past { past } else { try pastEntry(place) }
        guard let configuration = setting.configurations[system] else {
            throw .damagedOrigin(
                "a later entry of the log in \(storage.place) says that entry \(place) sets what the clients of \(system) "
                    + "are told, and it does not")
        }
        return configuration
    }

    /// The documents of systems that histories have named after an entry, or after any later one.
    func documents(
        of systems: Set<AnnouncedSystem>, keptFrom: Int64, upTo state: OriginState
    ) throws(StoreError) -> Set<SizedKey> {
        var documents: Set<SizedKey> = []
        guard !systems.isEmpty else { return documents }
        let first = keptFrom < state.number ? try pastEntry(keptFrom) : state.entry
        for system in systems {
            for channel in (state.entry.clients[system]?.histories ?? [:]).keys {
                let name = HistoryName(system: system, channel: channel)
                documents.formUnion(try history(name, in: first)?.documents ?? [])
                var place = state.entry.clients[system]?.histories[channel] ?? 0
                while place > keptFrom {
                    let rows = try self.rows(of: name, in: place)
                    for offer in rows.offers { documents.formUnion(offer.documents(of: system)) }
                    place = rows.before
                }
            }
        }
        return documents
    }
}
