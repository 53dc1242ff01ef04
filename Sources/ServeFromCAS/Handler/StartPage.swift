import CASStore
import VersionTree

/// A version's start page: whether it has one that can be sent.
struct StartPage: Sendable {
    let cache: SiteCache
    let objects: ContentCache

    func unfitness(of site: Site) -> String? {
        do throws(StoreError) {
            return try has(site) ? nil : "it has no page to start with (\(site.options.index))"
        } catch { return "its page cannot be shown: \(error.message)" }
    }

    /// Whether a version, current or not, has a start page.
    /// - Throws: what the disk reported, because a retry may succeed.
    func isShown(_ version: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try cache.examine(VersionName(version)) { (site) throws(StoreError) in
                try has(site)
            }
        } catch {
            if error.cause != nil { throw error }
            return false
        }
    }

    private func has(_ site: Site) throws(StoreError) -> Bool {
        guard let index = site.indexResource else { return false }
        try objects.verify(index.address, size: index.byteCount)
        return true
    }
}
