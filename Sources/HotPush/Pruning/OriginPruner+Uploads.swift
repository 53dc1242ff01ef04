import CASStore
import Storage

// Large files go in parts. Whoever is killed meanwhile leaves them, unseen and paid for.
extension OriginPruner {
    /// So many seconds after it was begun an upload counts as left: a week, as in the rule of docs/buckets.md.
    static let uploadAgeMax: Int64 = 7 * 86_400

    /// Ends what was left of files that nobody sends any more.
    ///
    /// - Returns: how many there were.
    func endUploads(isDryRun: Bool) throws(StoreError) -> Int {
        let open: OpenUploads?
        do throws(StoreError) {
            open = try storage.openUploads()
        } catch {
            // A prune needs no such right; a rule of the origin may do the same.
            guard error.code == .accessDenied else { throw error }
            publisher.options.notice(
                "uploads in parts that were left cannot be seen: \(error.message)")
            return 0
        }
        guard let open else { return 0 }
        let left = open.uploads.filter {
            OriginKey(path: $0.key) != nil && open.answeredAt - $0.begunAt > Self.uploadAgeMax
        }
        guard !isDryRun else { return left.count }
        for upload in left { try storage.abort(upload) }
        return left.count
    }
}
