package import CASStore

/// Where a repair has from what a store has lost; everything that comes is verified and durable.
package struct RepairSource {
    /// Brings objects, of the sizes that the manifests say.
    ///
    /// Returns the addresses of those that are there now; what cannot be had is left out.
    package var objects: ([Reference]) throws(StoreError) -> Set<ObjectID>
    /// Brings manifests, and what they name that is not here.
    ///
    /// Returns the names of the versions that are whole now; what cannot be had is left out.
    package var manifests: ([LostManifest]) throws(StoreError) -> Set<String>

    /// Makes a source; without `manifests` it has objects only.
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

/// A manifest that is to be had again: it is missing or damaged, or was made again from an incomplete tree.
package struct LostManifest: Sendable, Hashable {
    /// Its version.
    package var version: String
    /// The address of the version's content; `nil` if nobody knows it.
    package var content: ObjectID?
    /// What the version may name, where nobody knows its content: nothing else was ever its.
    package var named: Set<ObjectID> = []

    /// What is found of versions whose manifest is lost.
    static let kinds: Set<Finding.Kind> = [.missingManifest, .damagedManifest, .recoveredManifest]
}
