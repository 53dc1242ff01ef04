import CASStore
import Synchronization
import VersionTree

// Which files a cache may keep without asking again, by their names: the content must match the name, and no other
// version may have other bytes at the path.
extension SiteCache {
    /// The most bytes of a version read to find digests in names; files not read are not called immutable.
    private static var digestedByteCountMax: Int64 { 256 << 20 }
    private static var digestsMax: Int { 65_536 }

    /// Reads files to find their SHA-1 and MD5, each once.
    func digester(_ versions: VersionStore) -> (ObjectID, Int64) -> [Label] {
        var space = Self.digestedByteCountMax
        return { [self] object, byteCount in
            if let known = names.withLock({ $0.digests[object] }) { return known }
            guard byteCount <= space else { return [] }
            space -= byteCount
            do throws(StoreError) {
                guard let reader = try versions.store.open(object) else { return [] }
                let digests = try ContentDigests([.sha1, .md5])
                try reader.forEachPiece { piece throws(StoreError) in
                    piece.withUnsafeBytes { digests.update($0) }
                }
                let found = digests.finish(address: object)
                names.withLock { names in
                    if names.digests.count >= Self.digestsMax { names.digests = [:] }
                    names.digests[object] = found
                }
                return found
            } catch {
                // A request for the file reports what is wrong with it; until then no cache keeps it for a year.
                return []
            }
        }
    }

    /// A site as caches may keep it beside the other versions of the store.
    func compared(_ site: Site, _ versions: VersionStore) -> Site {
        site.beside(others(than: site, versions)) ?? site
    }

    /// Compares names again if a version has come or gone since.
    func compareNames() {
        let named = entries.filter { !$0.site.names.isEmpty }
        guard !named.isEmpty else { return }
        let versions = versions
        do throws(StoreError) {
            let status = try versions.fileSystem.status(versions.directories.manifests.raw)
            let isNews = names.withLock { names in
                defer { names.compared = status }
                return names.compared != status
            }
            guard isNews else { return }
            for entry in named {
                guard let site = entry.site.beside(others(than: entry.site, versions)) else {
                    continue
                }
                replace(entry, by: Entry(site, entry.hold, tag: entry.tag))
            }
        } catch {
            // Without a list of versions, the last comparison remains valid.
            return
        }
    }

    private func others(
        than site: Site, _ versions: VersionStore
    ) -> some Sequence<VersionTree.Manifest> {
        // A version whose manifest cannot be read is not served, so it does not count.
        names(versions).filter { $0 != site.version.description }.lazy.compactMap {
            try? versions.manifest(of: $0)
        }
    }

    func names(_ versions: VersionStore) -> [String] {
        // Without the list, no version is known to differ, and none to confirm a name.
        let files = try? versions.fileSystem.names(in: versions.directories.manifests.raw) {
            file, _ in file.hasSuffix(StoreLayout.manifestSuffix) && !file.hasPrefix(".")
        }
        return (files ?? []).map { String($0.dropLast(StoreLayout.manifestSuffix.count)) }
    }
}

struct KnownNames: Sendable {
    /// The directory of manifests when names were last compared.
    var compared: FileStatus?
    var digests: [ObjectID: [Label]] = [:]
}
