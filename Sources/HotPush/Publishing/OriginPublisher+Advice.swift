import CASStore
import Storage
import VersionTree

// What is said where a disk has no room.

extension OriginPublisher {
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
            guard error.code == .outOfSpace, error.cause != nil, let work = storage.work else {
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
}
