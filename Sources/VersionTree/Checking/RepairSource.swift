package import CASStore

/// Where a repair gets what a store has lost; everything that it brings is verified and durable.
package struct RepairSource {
    /// Brings objects, of the sizes that the manifests say.
    ///
    /// Returns the addresses of those that are there now; omits what it cannot get.
    package var objects: ([Reference]) throws(StoreError) -> Set<ObjectID>
    /// Brings manifests, and what they name that is not here.
    ///
    /// Returns the names of the versions that are whole now; omits what it cannot get.
    package var manifests: ([LostManifest]) throws(StoreError) -> Set<String>

    /// Makes a source; without `manifests` it has only objects.
    package init(
        objects: @escaping ([Reference]) throws(StoreError) -> Set<ObjectID>,
        manifests: @escaping ([LostManifest]) throws(StoreError) -> Set<String> = {
            (_) throws(StoreError) in []
        }
    ) {
        self.objects = objects
        self.manifests = manifests
    }
}

/// A manifest that is needed again: it is missing, damaged or false, or was made from an incomplete tree.
package struct LostManifest: Sendable, Hashable {
    /// Its version.
    package var version: String
    /// The address of the version's content; `nil` if nobody knows it.
    package var content: ObjectID?
    /// What the version may name if nobody knows its content: it never had anything else; `nil` if nothing tells that.
    package var named: Set<ObjectID>?

    /// The findings about versions whose manifest is lost.
    static let kinds: Set<Finding.Kind> = [
        .missingManifest, .damagedManifest, .recoveredManifest, .falseManifest,
    ]
}
