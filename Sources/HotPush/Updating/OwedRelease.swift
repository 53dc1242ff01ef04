import CASStore
import StrictJSON
import VersionTree

/// The version that an app must show before it goes on: a mandatory release, or the replacement of one
/// that was never shown.
///
/// `owed.json` in the store, `{"version":"2"}`, exists as long as there is such a version: closing the
/// app before it shows the version must not get around it. A damaged file owes nothing.
struct OwedRelease {
    private let versions: VersionStore

    init(_ versions: VersionStore) { self.versions = versions }

    private var root: Int32 { versions.directories.root.raw }

    /// Its name; `nil` if nothing is owed.
    func version() throws(StoreError) -> String? {
        guard try versions.fileSystem.status(root, StoreLayout.owed)?.kind == .regular else {
            return nil
        }
        let bytes = try versions.fileSystem.contents(root, StoreLayout.owed, limit: 4096)
        // It is replaced as a whole: only another program can have written what is no JSON.
        let document = try? JSONValue.parse(bytes)
        return document?["version"]?.asString
    }

    /// Notes durably what is owed from now on.
    func set(_ version: String?) throws(StoreError) {
        guard try self.version() != version else { return }
        guard let version else {
            try versions.fileSystem.removeIfPresent(root, StoreLayout.owed)
            return try versions.store.sync(root)
        }
        let document = JSONValue.object([.init(key: "version", value: .string(version))])
        try versions.fileSystem.replaceFile(
            root, StoreLayout.owed, with: JSONWriter.serialize(document, sortedKeys: false),
            token: randomToken(),
            durably: versions.store.options.isDurable)
    }
}
