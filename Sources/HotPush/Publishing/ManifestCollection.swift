import CASStore
import VersionTree

/// The part of collecting an origin that is about manifests and objects.
final class ManifestCollection: CollectedFiles {
    let origin: OriginWriter
    private let reader: DirectoryOrigin

    var documents: Int32 { origin.manifests.raw }
    var shards: Int32 { origin.objects.raw }
    var places: CollectedPlaces {
        CollectedPlaces(
            documents: \.manifests, waiting: \.waiting, files: \.objects, since: \.since)
    }

    var isDerived: Bool { false }

    init(in origin: OriginWriter) throws(StoreError) {
        self.origin = origin
        reader = try DirectoryOrigin(origin.path, fileSystem: origin.fileSystem)
    }

    func document(of release: OfferedRelease) -> ObjectID? { release.version?.manifest }

    func files(of manifests: Set<ObjectID>) throws(StoreError) -> Set<ObjectID> {
        var objects: Set<ObjectID> = []
        for manifest in manifests.sorted() {
            try origin.checkInterruption()
            guard let bytes = try reader.manifestBytes(manifest) else {
                throw StoreError(
                    .damagedOrigin,
                    "a channel of \(printable(origin.path)) names manifest \(manifest), which is not there; "
                        + "nothing is deleted until its version is published again or withdrawn",
                    object: manifest)
            }
            objects.formUnion(try Manifest(parsing: bytes).references.map(\.address))
        }
        return objects
    }
}
