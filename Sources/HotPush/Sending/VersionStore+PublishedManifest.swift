import CASStore
import VersionTree

extension VersionStore {
    /// A manifest that an origin names, byte for byte as it was published; `nil` if no version here has it.
    func manifest(
        _ address: ObjectID, of content: ObjectID
    ) throws(StoreError) -> Manifest? {
        for (row, _) in try store.versionRows() where row.content == content {
            guard let manifest = try readableManifest(of: row.name),
                try ObjectID(of: manifest.serialized()) == address
            else { continue }
            return manifest
        }
        return nil
    }
}
