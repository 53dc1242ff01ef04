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
