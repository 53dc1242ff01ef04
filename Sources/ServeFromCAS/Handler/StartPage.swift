import CASStore
import VersionTree

/// The page that a version starts with: whether there is one, and it can be sent.
struct StartPage: Sendable {
    let shelf: SiteShelf
    let objects: ContentCache

    /// Why a version has no page to start with; `nil` if it has one.
    func unfitness(of site: Site) -> String? {
        do throws(StoreError) {
            return try has(site) ? nil : "it has no page to start with (\(site.options.index))"
        } catch { return "its page cannot be shown: \(error.message)" }
    }

    /// Whether a version, shown or not, has such a page.
    /// - Throws: what the disk reported: it may have the page a moment later.
    func isShown(_ version: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try shelf.examine(VersionName(version)) { (site) throws(StoreError) in
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
