import CASStore
import VersionTree

// What a store shows if a file that describes it is damaged or gone.

extension SiteCache {
    /// The lifecycle; if it cannot be read and nothing is served yet, what the link `current` shows.
    func lifecycle(of versions: VersionStore) throws(StoreError) -> Lifecycle {
        do throws(StoreError) {
            return try versions.lifecycle()
        } catch {
            guard error.code == .badLifecycle || error.code == .tooLarge,
                current == nil
            else { throw error }
            let shown = try versions.lifecycleOfLink()
            guard shown.current != nil else { throw error }
            notice("serving the version that the link current shows: \(error.message)")
            return shown
        }
    }

    /// The manifest of a version; if it cannot be used, what the version's tree shows.
    func manifest(
        _ name: String, _ versions: VersionStore
    ) throws(StoreError) -> Manifest {
        do throws(StoreError) {
            return try versions.registeredManifest(of: name)
        } catch {
            guard VersionStore.saysManifestIsUnusable(error),
                let shown = try versions.manifestShown(by: name)
            else { throw error }
            notice("version \(name) is served as its tree shows it: \(error.message)")
            return shown
        }
    }

    /// Makes a lost manifest again from the tree, so the version is served as the tree shows it.
    /// - Throws: `.locked` if it could not be looked at in time.
    func recoverManifest(_ name: String, _ versions: VersionStore) throws(StoreError) {
        do throws(StoreError) {
            // If the version is registered, leave a damaged manifest to a repair; a sound one is read later.
            let isKnown = try versions.store.versionRow(name) != nil
            if isKnown, try versions.hasManifest(name) { return }
            guard try versions.isMaterialized(name),
                try versions.manifestUnlessLost(of: name) == nil
            else { return }
            guard try versions.recoverManifest(of: name) != .none else { return }
            notice(
                "the manifest of version \(name) was lost and was made again from its tree; castree fsck says "
                    + "whether it is complete")
        } catch {
            if error.code == .locked { throw error }
            // Opening the version reports what is missing; this reports why it could not be restored.
            notice("unable to make the manifest of version \(name) again: \(error.message)")
        }
    }
}
