import CASStore
import VersionTree

// Content in the store that the server confirms by answering 304 to `If-None-Match`.

extension Download {
    /// Stored content to ask about, if the whole of it is requested.
    func kept(for work: Work, from offset: Int64) -> [ArrivedContent] {
        offset == 0 && !work.asksForWhole && work.wrongCount == 0 ? work.content.kept : []
    }

    /// The content that a 304 confirms; nil if it does not say which (RFC 9110, section 15.4.5).
    static func unchanged(_ head: TransferHead, _ kept: [ArrivedContent]) -> ArrivedContent? {
        guard head.status == 304 else { return nil }
        guard let tag = head["etag"] else { return kept.count == 1 ? kept.first : nil }
        return kept.first { $0.entityTag?.utf8.elementsEqual(tag.utf8) == true }
    }

    func take(_ one: ArrivedContent, for work: Work) throws(StoreError) {
        guard try arrivals.rely(on: one.address) else {
            // A collection has deleted it meanwhile.
            var work = work
            work.asksForWhole = true
            return waiting.append(work)
        }
        budget.forget(work.budgetIDs)
        progress.filesTotal -= 1
        progress.bytesTotal -= work.content.byteCount ?? 0
        unchanged.count += 1
        unchanged.byteCount += one.byteCount
        finished.append(ArrivedFile(content: work.content, arrived: one))
    }
}

// Content that comes out of packs, or is already staged.

extension Download {
    var missing: (count: Int, byteCount: Int64) {
        (wanted.count, wanted.values.reduce(0) { $0.addingClamped($1.byteCount ?? 0) })
    }

    func isMissing(_ address: ObjectID) -> Bool { wanted[address] != nil }

    func begin(_ object: Reference) throws(StoreError) -> Arrival? {
        guard let content = wanted[object.address] else { return nil }
        return try begin(content)
    }

    /// Deletes the object and returns false if its bytes do not match.
    func finish(_ address: ObjectID, _ arrival: consuming Arrival) throws(StoreError) -> Bool {
        guard let content = wanted[address] else { return true }
        let file = file(of: content)
        let arrived: Arrived
        do throws(StoreError) {
            arrived = try arrival.finish { (digests) throws(StoreError) in
                try file.isProved(by: digests)
            }
        } catch {
            guard error.code == .mismatch else { throw error }
            return false
        }
        wanted[address] = nil
        unpacked.insert(content.name)
        figures.files += 1
        try add(content, arrived.object)
        return true
    }

    /// Takes whole contents that an earlier, killed pull left staged.
    func takeStaged() throws(StoreError) {
        for content in plan.contents where content.byteCount ?? 0 > 0 {
            guard let address = file(of: content).address, isMissing(address) else { continue }
            let arrival = try begin(content)
            if arrival.offset == content.byteCount { _ = try finish(address, arrival) }
        }
    }
}
