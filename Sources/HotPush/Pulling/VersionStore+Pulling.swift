import CASStore
import VersionTree

// What a pull asks of the versions that are here.

extension VersionStore {
    func manifest(
        with content: ObjectID, ifWhole: Bool = false
    ) throws(StoreError) -> Manifest? {
        for (row, _) in try store.versionRows()
        where row.content == content && (row.isComplete || !ifWhole) {
            if let manifest = try readableManifest(of: row.name) { return manifest }
        }
        return nil
    }

    /// Whether a version of that name exists with everything that it needs.
    func isAllHere(_ name: String) throws(StoreError) -> Bool {
        try versions().contains { $0.version == name && $0.state != .incomplete }
    }

    func contents(ifWhole: Bool) throws(StoreError) -> Set<ObjectID> {
        Set(
            try store.versionRows().lazy.map(\.row).filter { $0.isComplete || !ifWhole }.map(
                \.content))
    }
}
