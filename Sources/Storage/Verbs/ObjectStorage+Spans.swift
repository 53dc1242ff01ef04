package import Platform
import Synchronization

/// A range of consecutive keys.
package struct KeySpan: Sendable, Hashable {
    /// Only keys after this one; `nil` for the first.
    package var after: String?
    /// No keys after this one; `nil` for the last.
    package var upTo: String?

    package init(after: String? = nil, upTo: String? = nil) {
        self.after = after
        self.upTo = upTo
    }

    /// The common prefix of its keys, which a store can be asked for.
    fileprivate var prefix: String {
        guard let after, let upTo else { return "" }
        let common = zip(after.utf8, upTo.utf8).prefix { $0 == $1 }.map(\.0)
        return String(validating: common, as: UTF8.self) ?? ""
    }

    fileprivate func contains(_ key: String) -> Bool {
        !ends(before: key) && (after?.utf8.lexicographicallyPrecedes(key.utf8) ?? true)
    }

    fileprivate func ends(before key: String) -> Bool {
        upTo?.utf8.lexicographicallyPrecedes(key.utf8) ?? false
    }
}

private struct OpenSpan: Sendable {
    var span: KeySpan
    var turner: PageTurner

    init(_ span: KeySpan) {
        self.span = span
        let request = ListRequest(prefix: span.prefix, startAfter: span.after)
        turner = PageTurner(request, pageCountMax: 100_000)
    }

    var goesOn: Bool { !turner.isAtEnd && !(turner.last.map(span.ends(before:)) ?? false) }

    /// Cuts the rest at the middle one of the places where that is possible; `nil` if there is none.
    mutating func cut(at places: [String]) -> OpenSpan? {
        guard let last = turner.last else { return nil }
        let inside = places.filter {
            last.utf8.lexicographicallyPrecedes($0.utf8) && !span.ends(before: $0)
                && $0 != span.upTo
        }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard !inside.isEmpty else { return nil }
        let middle = inside[inside.count / 2]
        defer { span.upTo = middle }
        return OpenSpan(KeySpan(after: middle, upTo: span.upTo))
    }
}

extension ObjectStorage {
    private static var spanCountMax: Int { 16 }

    /// All keys of spans, listed in parallel by up to 16 and ``parallelCount`` requests.
    ///
    /// A span whose first page is not its last is cut in two, repeatedly. A listing of few pages thus takes no more
    /// requests than ``listAll(_:startAfter:countMax:pageCountMax:_:)``, and a long one up to 16 more.
    /// - Parameters:
    ///   - spans: no two of them have a key in common.
    ///   - places: keys, existing or not, at which a span may be cut, given the last one listed.
    ///   - take: gets keys on the caller's thread, each once, those of a span in order.
    /// - Throws: as ``listAll(_:startAfter:countMax:pageCountMax:_:)``; what `take` throws.
    package func list(
        _ spans: [KeySpan], cutAt places: (String) -> [String],
        _ take: ([ListedFile]) throws(StoreError) -> Void
    ) throws(StoreError) {
        var open = spans.map(OpenSpan.init)
        while !open.isEmpty {
            open = try turnPages(of: open, take)
            // Each once, so that their number doubles with each page.
            for index in open.indices where open.count < min(parallelCount, Self.spanCountMax) {
                guard let last = open[index].turner.last else { continue }
                if let other = open[index].cut(at: places(last)) { open.append(other) }
            }
        }
    }

    private func turnPages(
        of open: [OpenSpan], _ take: ([ListedFile]) throws(StoreError) -> Void
    ) throws(StoreError) -> [OpenSpan] {
        let turned = Mutex<[Int: (span: OpenSpan, page: ListPage)]>([:])
        try inParallel(open.count) { (index) throws(StoreError) in
            var span = open[index]
            let page = try span.turner.turn(in: self)
            turned.withLock { $0[index] = (span, page) }
        }
        var left: [OpenSpan] = []
        for (_, (span, page)) in turned.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            try take(page.files.filter { span.span.contains($0.key) })
            if span.goesOn { left.append(span) }
        }
        return left
    }
}

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
