import CASStore
import VersionTree

/// A content to which packs lead, or from which one leads.
struct PackedContent: Sendable {
    /// The name of a version that has it.
    let version: String
    /// Its address.
    let content: ObjectID
    let manifest: Manifest
    let objects: NumberedObjects

    init(version: String, content: ObjectID, _ manifest: Manifest) {
        self.version = version
        self.content = content
        self.manifest = manifest
        objects = NumberedObjects(of: manifest)
    }
}
