package import Platform
import Synchronization

/// Keys that follow each other: those after one, up to another.
package struct KeySpan: Sendable, Hashable {
    /// Only keys after this one; nil for the first.
    package var after: String?
    /// No keys after this one; nil for the last.
    package var upTo: String?

    /// Makes a span.
    package init(after: String? = nil, upTo: String? = nil) {
        self.after = after
        self.upTo = upTo
    }

    /// What all its keys begin with: what a store can be asked for.
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

/// A span that is being listed.
private struct OpenSpan: Sendable {
    var span: KeySpan
    var turner: PageTurner

    init(_ span: KeySpan) {
        self.span = span
        let request = ListRequest(prefix: span.prefix, startAfter: span.after)
        turner = PageTurner(request, pageCountMax: 100_000)
    }

    /// Whether there are more pages of it.
    var goesOn: Bool { !turner.isAtEnd && !(turner.last.map(span.ends(before:)) ?? false) }

    /// Cuts what is left in the middle of the places where that may be done; nil if there is none.
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
    /// The most spans that are listed at once.
    private static var spanCountMax: Int { 16 }

    /// All keys of spans, from several places at once: up to 16, and to ``parallelCount``.
    ///
    /// A span whose first page is not its last is cut in two, and so on. So a listing of few pages takes
    /// no more requests than ``listAll(_:startAfter:countMax:pageCountMax:_:)``, and a long one up to 16 more.
    /// - Parameters:
    ///   - spans: no two of them have a key in common.
    ///   - places: keys, there or not, at which a span may be cut, for the last one that came of it.
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

    /// Lists the next page of each span.
    /// - Returns: the spans that have more.
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
