import CASStore

// What a publisher says that could not do all it was asked for.

extension Publisher {
    /// Says where there is no room, and what the channel offers then: this release or what it did before.
    func withAdvice<R>(
        _ version: PublishedVersion, in channel: ChannelName, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) {
            return try body()
        } catch {
            // Who has asked for room in vain says so itself.
            guard error.code == .outOfSpace, error.cause != nil else {
                throw offeredAllTheSame(version, in: channel, error)
            }
            // If it cannot be read, it is not known to be there.
            let pointer = (try? DirectoryOrigin(path, fileSystem: fileSystem))
                .flatMap { try? $0.pointer(channel) }
            let isOffered = pointer?.releases.first?.version?.manifest == version.manifest
            let state =
                isOffered
                ? "channel \(channel) offers version \(version.name), and something that goes with it is missing"
                : "channel \(channel) offers what it did before"
            throw noRoom(error, "\(state); \(roomByPruning)")
        }
    }

    /// The error, and that the release is offered though, if it is: who scripts must not take it for unpublished.
    private func offeredAllTheSame(
        _ version: PublishedVersion, in channel: ChannelName, _ error: StoreError
    ) -> StoreError {
        // If it cannot be read, it is not known to be there.
        let pointer = (try? DirectoryOrigin(path, fileSystem: fileSystem))
            .flatMap { try? $0.pointer(channel) }
        guard error.cause != nil, pointer?.releases.first?.version?.manifest == version.manifest
        else { return error }
        return StoreError(
            error.code,
            "\(error.message); channel \(channel) offers version \(version.name) all the same: mend this, and repeat the "
                + "command", cause: error.cause)
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
