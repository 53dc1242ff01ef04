import HotPush
import Platform

/// A release that a mirrored pointer lists: which files it consists of, and where those stand in the bucket.
struct ListedRelease: Sendable, Hashable {
    let version: PublishedVersion
    let facts: ObjectID
    let place: OfferedRelease.FactsPlace

    /// - Returns: `nil` for one that leads to what was shipped with the app, or that no client of another system is
    /// told.
    init?(_ release: OfferedRelease) {
        guard let version = release.version, let facts = release.facts else { return nil }
        self.version = version
        self.facts = facts
        place = release.factsPlace
    }

    /// What every answer about the release depends on.
    var documents: [PlacedFile] {
        var files = [
            PlacedFile(
                PlacedFile.Name(.manifest, version.manifest), in: version.epoch,
                byteCount: version.manifestByteCount),
            PlacedFile(PlacedFile.Name(.facts, facts), in: place.epoch),
        ]
        for (places, epoch) in [(version.places, version.epoch), (place.places, place.epoch)] {
            if let places { files.append(PlacedFile(PlacedFile.Name(.places, places), in: epoch)) }
        }
        return files
    }

    /// The twins' places, as those of a version's objects are read.
    var placedTwins: PublishedVersion {
        var twins = version
        (twins.epoch, twins.places) = (place.epoch, place.places)
        return twins
    }
}

/// Where the objects and twins of a release stand.
struct ReleasePlacement: Sendable {
    /// Files in the order of their addresses, as places count them.
    private struct Row: Sendable {
        var files: [(address: ObjectID, byteCount: Int64)]
        var places: Places?
        var epoch: Int64

        func file(_ kind: PlacedFile.Kind, _ address: ObjectID) -> PlacedFile? {
            var (low, high) = (0, files.count)
            while low < high {
                let middle = (low + high) / 2
                if files[middle].address < address { low = middle + 1 } else { high = middle }
            }
            guard low < files.count, files[low].address == address else { return nil }
            return PlacedFile(
                PlacedFile.Name(kind, address), in: places?.epoch(of: low) ?? epoch,
                byteCount: files[low].byteCount)
        }
    }

    private let objects: Row
    private let twins: Row

    /// Reads where the files of a release stand.
    ///
    /// - Parameter bytes: the bytes of places.
    /// - Throws: `.damagedOrigin` for places that are not those of the release.
    init(
        _ release: ListedRelease, _ facts: ContentFacts,
        _ bytes: (ObjectID) throws(StoreError) -> [UInt8]
    ) throws(StoreError) {
        objects = try Self.row(
            facts.objects.map { ($0.address, $0.byteCount) }, release.version, bytes)
        var twins: [ObjectID: Int64] = [:]
        for object in facts.objects {
            if let twin = object.twin { twins[twin.address] = twin.byteCount }
        }
        self.twins = try Self.row(
            twins.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }, release.placedTwins, bytes)
    }

    private static func row(
        _ files: [(ObjectID, Int64)], _ published: PublishedVersion,
        _ bytes: (ObjectID) throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> Row {
        let files = files.map { (address: $0.0, byteCount: $0.1) }
        guard let address = published.places else {
            return Row(files: files, places: nil, epoch: published.epoch)
        }
        let places = try Places(try bytes(address), of: published, count: files.count)
        return Row(files: files, places: places, epoch: published.epoch)
    }

    /// Where a file stands; `nil` if it is none of the release's.
    func file(_ name: PlacedFile.Name) -> PlacedFile? {
        switch name.kind {
        case .object: objects.file(.object, name.address)
        case .twin: twins.file(.twin, name.address)
        default: nil
        }
    }

    /// About so many bytes in memory.
    var cost: Int { (objects.files.count + twins.files.count) * 40 + 512 }
}
