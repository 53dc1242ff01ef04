import CASStore

/// The ways to fetch a release and their costs, decided before a byte arrives: ``Pull`` follows it, `--dry-run` prints
/// it.
package struct DeliveryChoice: Sendable, Hashable {
    package struct Way: Sendable, Hashable {
        /// `nil` means fetching objects one by one.
        package var pack: Delivery.Pack?
        /// For objects one by one, an estimate until the manifest is known.
        package var byteCount: Int64
        package var requestCount: Int64
        /// Whether only parts of the pack are requested; the figures are then estimates.
        package var isByRanges = false

        /// The bytes, plus ``PackSpans/requestByteCount`` for each request.
        package var cost: Int64 {
            let (worth, isHuge) = requestCount.multipliedReportingOverflow(
                by: PackSpans.requestByteCount)
            return isHuge ? .max : byteCount.addingClamped(worth)
        }

        package var name: String {
            guard let pack else { return "objects" }
            return pack.base != nil ? "from" : isByRanges ? "ranges" : "whole"
        }
    }

    /// Cheapest first; among equals, the one with fewer requests.
    package let ways: [Way]
    package let objectCount: Int64
    package let contentByteCount: Int64

    init(
        _ delivery: Delivery, of version: PublishedVersion, isHeld: (ObjectID) -> Bool
    ) {
        var usable: [Delivery.Pack] = []
        for pack in delivery.packs where pack.isReadable {
            if let base = pack.base, !isHeld(base) { continue }
            usable.append(pack)
        }
        // A pack based on content in the store holds only what that content is missing.
        let least = usable.min { $0.contentByteCount < $1.contentByteCount }
        objectCount = least?.objectCount ?? 0
        contentByteCount = least?.contentByteCount ?? 0
        var ways = usable.map { Way(pack: $0, byteCount: $0.byteCount, requestCount: 1) }
        ways.append(
            Way(
                pack: nil, byteCount: contentByteCount.addingClamped(version.manifestByteCount),
                requestCount: objectCount.addingClamped(1)))
        ways.sort {
            ($0.cost, $0.requestCount, $0.pack?.base == nil ? 1 : 0)
                < ($1.cost, $1.requestCount, $1.pack?.base == nil ? 1 : 0)
        }
        // Without a pack, the cost of the objects is unknown.
        self.ways = usable.isEmpty ? [] : ways
    }

    /// The ways once the missing content is known: exact for objects one by one; for ranges of a full pack, assuming
    /// that the missing objects are spread evenly.
    package func ways(missing count: Int, _ byteCount: Int64) -> [Way] {
        var ways: [Way] = []
        for way in self.ways {
            guard let pack = way.pack else {
                ways.append(Way(pack: nil, byteCount: byteCount, requestCount: Int64(count)))
                continue
            }
            ways.append(way)
            guard pack.base == nil, pack.contentByteCount > 0, byteCount < pack.contentByteCount
            else { continue }
            let share = Double(byteCount) / Double(pack.contentByteCount)
            let frames = Double(pack.byteCount - pack.openingByteCount) * share
            var ranges = Way(
                pack: pack, byteCount: pack.openingByteCount + Int64(frames), requestCount: 2)
            ranges.isByRanges = true
            ways.append(ranges)
        }
        ways.sort { ($0.cost, $0.requestCount) < ($1.cost, $1.requestCount) }
        return ways
    }

    var packs: [Delivery.Pack] {
        ways.prefix { $0.pack != nil }.compactMap(\.pack)
    }
}

extension UpdateCost {
    /// The cheapest way's cost before the manifest is known; does not subtract what is here.
    init(_ choice: DeliveryChoice) {
        self.init()
        files = Int(clamping: choice.objectCount)
        bytes = choice.ways.first?.byteCount ?? choice.contentByteCount
    }
}
