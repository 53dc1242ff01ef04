import CASStore
import HotPush
import Storage
import Synchronization

// Which copy counts: the one here, or one in the bucket that names an older entry of the log.
extension OriginMirror {
    /// Why a copy in the bucket that names an older entry of the log than the one here does not count; `nil` if it does.
    ///
    /// Anybody who may write there may have written either. What is true stands in the log, so the one here counts
    /// unless the log says something else; one that it has proved is not held against it again.
    /// - Throws: what says that the bucket cannot be reached.
    func objection(toOlder path: String) throws(StoreError) -> String? {
        let older = "\(path) in \(bucket.place) is an older copy than the one here, which counts"
        let mended = "\(older); the next publish there mends it"
        let digest = cache.digest(of: path)
        if let digest, state.withLock({ $0.proved[path] }) == digest { return mended }
        do throws(StoreError) {
            guard let bytes = try cache.contents(path, limit: ClientHistory.byteCountMax),
                try LoggedCopies.prove(bytes, at: path, in: bucket)
            else { return nil }
        } catch {
            if reach.isLost(error) || error.code == .interrupted { throw error }
            return "\(older) until the log says which of them is right: \(error.message)"
        }
        if let digest { state.withLock { $0.proved[path] = digest } }
        return mended
    }
}
