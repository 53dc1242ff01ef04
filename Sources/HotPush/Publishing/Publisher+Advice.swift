import CASStore

// What a publisher says that could not do all it was asked for.

extension Publisher {
    /// Says what the channel offers where publishing fails: this release, which who scripts must not take for unpublished, or
    /// what it did before; and where there is no room.
    func withAdvice<R>(
        _ version: PublishedVersion, in channel: ChannelName, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) {
            return try body()
        } catch {
            // Who has asked for room in vain says so itself.
            guard error.cause != nil else { throw error }
            // If it cannot be read, it is not known to be there.
            let pointer = (try? DirectoryOrigin(path, fileSystem: fileSystem))
                .flatMap { try? $0.pointer(channel) }
            let isOffered = pointer?.releases.first?.version?.manifest == version.manifest
            guard error.code == .outOfSpace else {
                guard isOffered else { throw error }
                throw StoreError(
                    error.code,
                    "\(error.message); channel \(channel) offers version \(version.name) all the same: mend this, and "
                        + "repeat the command", cause: error.cause)
            }
            let state =
                isOffered
                ? "channel \(channel) offers version \(version.name), and something that goes with it is missing"
                : "channel \(channel) offers what it did before"
            throw noRoom(error, "\(state); \(roomByPruning)")
        }
    }

    var roomByPruning: String {
        "make room in \(printable(path)) (castree prune deletes what no channel offers)"
    }

    /// The error with what is to be done about it in an origin: a system call's own advice is about stores.
    func noRoom(_ error: StoreError, _ advice: String) -> StoreError {
        let failure = error.message.prefix { $0 != ";" }
        return StoreError(
            .outOfSpace, "\(failure); \(advice), then repeat the command", cause: error.cause)
    }

    /// Says what to do where there is no room.
    func withAdvice<R>(
        _ advice: String, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code == .outOfSpace, error.cause != nil else { throw error }
            throw noRoom(error, advice)
        }
    }
}
