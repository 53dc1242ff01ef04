import CASStore
import HotPush
import VersionTree

/// Where the objects and twins of releases stand: one look-up, however many releases there are.
struct PlaceTable: Sendable {
    /// The releases whose files are here, are beyond its room, or cannot be found out.
    var releases: [ListedRelease] = []
    /// Those of them that it has no room for: their documents say where their files stand.
    var beyond: [ListedRelease] = []
    /// Why the files of a release cannot be found out.
    private(set) var failure: StoreError?
    private var objects: [Row] = []
    private var twins: [Row] = []
    private var packs: [Row] = []

    /// How many files it has.
    var count: Int { objects.count + twins.count + packs.count }

    private struct Row: Sendable {
        var address: ObjectID
        var byteCount: Int64
        var epoch: Int64
    }

    /// Adds the files of a release.
    ///
    /// - Parameter bytes: the bytes of places.
    mutating func add(
        _ release: ListedRelease, _ facts: () throws(StoreError) -> ContentFacts,
        _ bytes: (ObjectID) throws(StoreError) -> [UInt8]
    ) {
        do throws(StoreError) {
            let facts = try facts()
            let own = try Self.rows(
                facts.objects.map { ($0.address, $0.byteCount) }, release.version, bytes)
            let ownTwins = try Self.rows(
                facts.twins.map { ($0.address, $0.byteCount) }, release.placedTwins, bytes)
            objects = Self.merged(objects, own)
            twins = Self.merged(twins, ownTwins)
        } catch {
            // What other releases list is found all the same.
            failure = failure ?? error
        }
    }

    /// Adds the objects of a version.
    ///
    /// - Parameter bytes: the bytes of places.
    mutating func add(
        _ manifest: Manifest, of version: PublishedVersion,
        _ bytes: (ObjectID) throws(StoreError) -> [UInt8]
    ) throws(StoreError) {
        let own = try Self.rows(
            manifest.references.map { ($0.address, $0.byteCount) }, version, bytes)
        objects = Self.merged(objects, own)
    }

    /// Adds the packs of a delivery.
    mutating func add(_ delivery: Delivery, in epoch: Int64) {
        let own = delivery.packs.map {
            Row(address: $0.address, byteCount: $0.byteCount, epoch: epoch)
        }
        packs = Self.merged(packs, own.sorted { $0.address < $1.address })
    }

    /// The rows of files in the order of their addresses, as places count them.
    private static func rows(
        _ files: [(ObjectID, Int64)], _ published: PublishedVersion,
        _ bytes: (ObjectID) throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [Row] {
        var places: Places?
        if let address = published.places {
            places = try Places(try bytes(address), of: published, count: files.count)
        }
        return files.enumerated().map { (number, file) in
            Row(
                address: file.0, byteCount: file.1,
                epoch: places?.epoch(of: number) ?? published.epoch)
        }
    }

    /// Both, each address once.
    private static func merged(_ known: [Row], _ new: [Row]) -> [Row] {
        var all: [Row] = []
        all.reserveCapacity(known.count + new.count)
        var (left, right) = (0, 0)
        while left < known.count, right < new.count {
            if new[right].address < known[left].address {
                all.append(new[right])
                right += 1
            } else {
                if known[left].address == new[right].address { right += 1 }
                all.append(known[left])
                left += 1
            }
        }
        all += known[left...]
        all += new[right...]
        return all
    }

    /// Where a file stands; `nil` if no release lists it.
    func file(_ name: PlacedFile.Name) -> PlacedFile? {
        let rows: [Row]
        switch name.kind {
        case .object: rows = objects
        case .twin: rows = twins
        case .pack: rows = packs
        default: return nil
        }
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].address < name.address { low = middle + 1 } else { high = middle }
        }
        guard low < rows.count, rows[low].address == name.address else { return nil }
        return PlacedFile(name, in: rows[low].epoch, byteCount: rows[low].byteCount)
    }
}
