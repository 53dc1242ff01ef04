import CASStore

/// The ways to a release, with what each would cost: decided before a byte of it comes.
///
/// One cost for all: the bytes, and for each request what it is worth (``PackSpans/requestByteCount``). A value:
/// ``Pull`` obeys it, `--dry-run` prints it.
package struct DeliveryChoice: Sendable, Hashable {
    /// A way to a release.
    package struct Way: Sendable, Hashable {
        /// The pack, unless objects come one by one.
        package var pack: Delivery.Pack?
        /// The bytes that it takes; for objects one by one, as far as can be told before the manifest is known.
        package var byteCount: Int64
        /// The requests that it takes.
        package var requestCount: Int64
        /// Whether only parts of the pack are asked for; then the figures are estimates.
        package var isByRanges = false

        /// What it costs, in bytes.
        package var cost: Int64 {
            let (worth, isHuge) = requestCount.multipliedReportingOverflow(
                by: PackSpans.requestByteCount)
            return isHuge ? .max : byteCount.addingClamped(worth)
        }

        /// What `--json` calls it: `from`, `whole`, `ranges` or `objects`.
        package var name: String {
            guard let pack else { return "objects" }
            return pack.base != nil ? "from" : isByRanges ? "ranges" : "whole"
        }
    }

    /// The ways, the best first; of equal ones the one with fewer requests.
    package let ways: [Way]
    /// The objects that must come, and their bytes, as far as can be told before the manifest is known.
    package let objectCount: Int64
    /// See ``objectCount``.
    package let contentByteCount: Int64

    /// Compares the ways.
    ///
    /// - Parameter isHeld: whether the store has a content whole.
    init(
        _ delivery: Delivery, of version: PublishedVersion, isHeld: (ObjectID) -> Bool
    ) {
        var usable: [Delivery.Pack] = []
        for pack in delivery.packs where pack.isReadable {
            if let base = pack.base, !isHeld(base) { continue }
            usable.append(pack)
        }
        // A pack from a content that is here has what that content lacks.
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
        // Without a pack nobody knows what the objects cost.
        self.ways = usable.isEmpty ? [] : ways
    }

    /// The ways, now that it is known what is missing: objects one by one exactly, and ranges of the pack of everything
    /// as if what is missing were spread evenly.
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

    /// The packs that are better than objects one by one, the best first.
    var packs: [Delivery.Pack] {
        ways.prefix { $0.pack != nil }.compactMap(\.pack)
    }
}
