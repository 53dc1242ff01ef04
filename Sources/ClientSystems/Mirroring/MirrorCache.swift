import HotPush
import Platform
import Storage
import Synchronization

/// The files of a bucket that a mirror has on its disk.
///
/// What is named by its bytes comes when it is asked for, and is compared with its name before it gets it; so is what an
/// earlier process has left, before it counts. What goes first was used longest ago; what a ``MirrorHold`` names stays, also
/// while it comes. Of the files that change the mirror decides which of their bytes are kept, and when.
///
/// Nothing is synced: what a power cut tears is found by its digest. Several threads may use it at once.
final class MirrorCache: Sendable {
    typealias Name = OriginKey

    struct State: Sendable {
        var index = MirrorIndex()
        var absences = MirrorAbsences()
        var documents: [String: KeptDocument] = [:]
        /// Whether the next start knows all tags.
        var areTagsNoted = true
        var fetches = MirrorFetches()
    }

    let bucket: any ObjectStorage
    let directory: MirrorDirectory
    let limit: MirrorIndex.Limit
    let reach: MirrorReach
    let laggards: MirrorLaggards
    let state = Mutex(State())
    /// What is on the disk and what is known of it change together, one after the other.
    let turn = ThreadGate(limit: 1)

    init(
        _ bucket: any ObjectStorage, _ directory: MirrorDirectory, _ limit: MirrorIndex.Limit,
        _ reach: MirrorReach, _ laggards: MirrorLaggards
    ) {
        self.bucket = bucket
        self.directory = directory
        self.limit = limit
        self.reach = reach
        self.laggards = laggards
    }

    var copies: DirectoryStorage { directory.copies }

    /// Does what changes the disk; makes room once if that is full, and says what is wrong in the cache's words.
    func changing<Value>(
        _ change: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            do throws(StoreError) { return try change() } catch {
                guard error.code == .outOfSpace else { throw error }
                try makeRoom()
                return try change()
            }
        } catch {
            throw MirrorDirectory.advised(error, directory.path)
        }
    }
}
