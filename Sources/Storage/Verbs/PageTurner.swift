import Platform

/// Turns the pages of a listing, and checks that each leads on.
struct PageTurner: Sendable {
    private var request: ListRequest
    private let pageCountMax: Int
    private var pageCount = 0
    private var emptyCount = 0
    private var next: String?
    private(set) var last: String?
    private(set) var isAtEnd = false

    init(_ request: ListRequest, pageCountMax: Int) {
        self.request = request
        self.pageCountMax = pageCountMax
    }

    /// - Throws: what listing throws; `.bucketAnswer` if the pages do not lead on.
    mutating func turn(in bucket: some ObjectStorage) throws(StoreError) -> ListPage {
        if let next {
            // Pages without keys may follow each other, but not by the same token, and not endlessly.
            guard next != request.token, emptyCount < 1_000, pageCount < pageCountMax else {
                throw endless(bucket)
            }
            request.token = next
        }
        let page = try bucket.list(request)
        for file in page.files {
            if let last, !last.utf8.lexicographicallyPrecedes(file.key.utf8) {
                throw endless(bucket)
            }
            last = file.key
        }
        pageCount += 1
        emptyCount = page.files.isEmpty ? emptyCount + 1 : 0
        next = page.next
        isAtEnd = page.next == nil
        return page
    }

    private func endless(_ bucket: some ObjectStorage) -> StoreError {
        StoreError(
            .bucketAnswer,
            "\(bucket.place) lists \(printable(request.prefix)) without an end: its pages do not lead on"
        )
    }
}
