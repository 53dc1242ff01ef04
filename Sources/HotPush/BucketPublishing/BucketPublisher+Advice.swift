import CASStore
import Storage
import VersionTree

// What is said where a disk has no room.

extension BucketPublisher {
    /// Says what to do where there is no room, and of a release that is published what the channel offers.
    ///
    /// A system call's own advice is about stores.
    func advising<R>(
        on channel: ChannelName? = nil, _ version: String = "", _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) {
            return try body()
        } catch {
            // Whoever has asked for room in vain says so itself.
            guard error.code == .outOfSpace, error.cause != nil, let work = bucket.work else {
                throw error
            }
            let failure = error.message.prefix { $0 != ";" }
            let offers = channel.map { "channel \($0) offers what it did before; " } ?? ""
            throw StoreError(
                .outOfSpace,
                "\(failure); \(offers)make room in \(printable(work.place)) (castree prune deletes what no channel "
                    + "offers), then repeat the command", cause: error.cause)
        }
    }

    /// - Throws: `.outOfSpace` unless objects and documents of so many bytes fit, and some more for directories.
    static func checkRoom(
        for files: [Int64], in bucket: any ObjectStorage
    ) throws(StoreError) {
        guard let work = bucket.work, !files.isEmpty else { return }
        let block: Int64 = 4_096
        let needed = files.reduce(Int64(0)) { $0.addingClamped(($1 + block - 1) / block * block) }
        let available = try work.freeByteCount()
        guard available < needed.addingClamped(PublishPlan.reservedByteCount) else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(printable(work.place)): \(sizeText(needed)) are needed, "
                + "\(sizeText(available)) are free, and \(sizeText(PublishPlan.reservedByteCount)) must stay free; castree "
                + "prune deletes what no channel offers")
    }
}
