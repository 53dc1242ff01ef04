public import CASStore
public import VersionTree

extension Publisher {
    /// Takes a version out of a channel: each device goes to the first remaining release for it.
    ///
    /// Its files stay until ``collect(_:)`` finds that no channel offers them. A device that has the
    /// version and is offered nothing keeps it.
    ///
    /// - Parameters:
    ///   - version: the release to withdraw.
    ///   - channel: the channel that offers it.
    ///   - toEmbedded: whether to offer what was shipped with the app at the head of the channel, so
    ///     that every device goes back to it.
    /// - Returns: what the channel offers afterwards.
    /// - Throws: `.noOrigin`; `.notOffered` if there is no such channel or it does not offer the
    ///   version; `.badPointer`, `.busy`, `.outOfSpace`.
    public func withdraw(
        _ version: VersionName, from channel: ChannelName = .stable, toEmbedded: Bool = false
    ) throws(StoreError) -> ChannelPointer {
        try withAdvice(roomByPruning) { () throws(StoreError) in
            try replacePointer(withdrawing: version, from: channel, toEmbedded: toEmbedded)
        }
    }

    private func replacePointer(
        withdrawing version: VersionName, from channel: ChannelName, toEmbedded: Bool
    ) throws(StoreError) -> ChannelPointer {
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        let pointers = try origin.pointers(for: channel)
        guard let before = pointers[channel] else {
            throw .noChannel(channel, in: path)
        }
        let now = now()
        guard var after = before.withdrawing(version, now: now) else {
            // A process may have withdrawn it and died before the pointer's name was durable.
            try origin.sync(origin.channels.raw)
            throw StoreError(
                .notOffered,
                "channel \(channel) of \(printable(path)) does not offer version \(version)")
        }
        if toEmbedded {
            let release = ReleaseOffer(channel: channel).release(.embedded)
            if let next = after.offering(release, now: now) { after = next }
        }
        return try origin.write(after, upon: pointers)
    }
}
