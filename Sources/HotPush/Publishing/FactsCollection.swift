import CASStore

/// The part of collecting an origin that is about facts and twins.
///
/// Neither keeps an object or a manifest; the clients of other systems need both.
final class FactsCollection: CollectedFiles {
    let origin: OriginWriter
    private let directories: OriginWriter.FactsDirectories
    private let reader: DirectoryOrigin

    var documents: Int32 { directories.facts.raw }
    var shards: Int32 { directories.twins.raw }
    var places: CollectedPlaces {
        CollectedPlaces(
            documents: \.facts, waiting: \.waitingFacts, files: \.twins, since: \.factsSince)
    }

    /// - Returns: `nil` for an origin that never had facts.
    init?(in origin: OriginWriter) throws(StoreError) {
        guard let directories = try origin.factsDirectories() else { return nil }
        self.directories = directories
        self.origin = origin
        reader = try DirectoryOrigin(origin.path, fileSystem: origin.fileSystem)
    }

    func document(of release: OfferedRelease) -> ObjectID? { release.facts }

    func files(of facts: Set<ObjectID>) throws(StoreError) -> Set<ObjectID> {
        var twins: Set<ObjectID> = []
        for address in facts.sorted() {
            // What is gone leads nobody to a twin; damaged facts may: then nothing is deleted.
            guard let facts = try reader.facts(address) else { continue }
            for object in facts.objects {
                if let twin = object.twin { twins.insert(twin.address) }
            }
        }
        return twins
    }
}
