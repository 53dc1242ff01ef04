import CASStore

// Content of which the server says that it is what the store has: 304 to a request with `If-None-Match`.

extension Download {
    /// What to ask about: content that is here, if the request is for the whole of it.
    func kept(for work: Work, from offset: Int64) -> [ArrivedContent] {
        offset == 0 && !work.asksForWhole && work.wrongCount == 0 ? work.content.kept : []
    }

    /// The content that a 304 means; nil if it does not say which (RFC 9110, section 15.4.5).
    static func unchanged(_ head: TransferHead, _ kept: [ArrivedContent]) -> ArrivedContent? {
        guard head.status == 304 else { return nil }
        guard let tag = head["etag"] else { return kept.count == 1 ? kept.first : nil }
        return kept.first { $0.entityTag?.utf8.elementsEqual(tag.utf8) == true }
    }

    /// Takes content that is here in place of what was asked for.
    func take(_ one: ArrivedContent, for work: Work) throws(StoreError) {
        guard try arrivals.rely(on: one.address) else {
            // A collection was faster.
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
