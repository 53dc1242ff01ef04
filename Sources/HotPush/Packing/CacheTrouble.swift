import CASStore
import Synchronization

/// Goes on without what packing keeps for the next release, where that cannot be kept: it can be made again.
final class CacheTrouble: Sendable {
    private let place: PackingPlace.Name
    private let notice: @Sendable (String) -> Void
    /// The caches of which this was said.
    private let told = Mutex<Set<String>>([])

    /// - Parameters:
    ///   - place: where the caches are, for people.
    ///   - notice: hears it, once for each cache.
    init(in place: PackingPlace.Name, _ notice: @escaping @Sendable (String) -> Void) {
        self.place = place
        self.notice = notice
    }

    /// Does something with a cache.
    /// - Parameter name: of its directory.
    /// - Returns: `nil` if it cannot be used: something else stands there, or it may not be written.
    /// - Throws: what has nothing to do with the cache: `.outOfSpace`, `.outOfMemory`, `.interrupted`.
    func withCache<R>(_ name: String, _ body: () throws(StoreError) -> R) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.isOfCache else { throw error }
            if told.withLock({ $0.insert(name).inserted }) {
                notice(
                    "\(place.path)/\(name) of \(place.owner) cannot be used (\(error.message)): packs are "
                        + "made without it, and the next ones take longer; delete it, it is only a cache"
                )
            }
            return nil
        }
    }
}

extension StoreError {
    /// Whether a cache in which this happened can be left alone.
    fileprivate var isOfCache: Bool {
        ![.outOfSpace, .outOfMemory, .interrupted].contains(code)
    }
}

extension FileSystem {
    /// What is kept to be quicker: `nil` if it is missing, something else, or cannot be read.
    func cached<R>(_ body: () throws(StoreError) -> R?) throws(StoreError) -> R? {
        try StoreError.ignoring(where: \.isOfCache, body)
    }
}
