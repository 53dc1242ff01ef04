import CASStore
import VersionTree

// What to say where nothing describes a release: the wrong place, or the wrong channel.

extension Pull {
    /// - Parameter status: what the origin answered when asked for the channel.
    func noChannel(
        _ channel: ChannelName, at origin: OriginLocation, _ status: Int
    ) throws(StoreError) -> StoreError {
        if status == 403 {
            if let refusal = access.refusal { return refusal }
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(channel)\" be read (it answered "
                    + "403): it is private, or has no such channel")
        }
        if let error = try wrongPlace(origin, channel.description) { return error }
        return StoreError(
            .notFound,
            "\(origin.description) has no channel \"\(channel)\" (it answered \(status)); "
                + "castree publish makes one")
    }

    /// - Parameter status: what the origin answered when asked for a channel; 0 if it was not.
    func noRelease(at origin: OriginLocation, _ status: Int) throws(StoreError) -> StoreError {
        // Storage that may not be listed answers 403 also for what does not exist.
        if status == 403 {
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(printable(options.channel))\" be "
                    + "read (it answered 403): it is private, or describes no release; check the URL, "
                    + "and who may read it")
        }
        if status != 0, let error = try wrongPlace(origin, options.channel) { return error }
        return StoreError(
            .notFound,
            "nothing at \(origin.description) describes a release: neither a channel "
                + "\"\(printable(options.channel))\" (castree publish) nor a Meteor server's "
                + "__cordova/manifest.json; \(origin.advice)")
    }

    /// The error if there is no such directory, or an origin with other channels; nil if neither is sure.
    private func wrongPlace(
        _ origin: OriginLocation, _ channel: String
    ) throws(StoreError) -> StoreError? {
        if case .directory(let path) = origin,
            try versions.fileSystem.status(POSIXFileSystem.workingDirectory, path) == nil
        {
            return StoreError(
                .notFound, "there is no directory \(printable(path)); \(origin.advice)")
        }
        let names = try channels(at: origin).filter { $0 != channel }
        guard !names.isEmpty else { return nil }
        let few = names.prefix(Self.namedCountMax).joined(separator: ", ")
        return StoreError(
            .notFound,
            "the origin \(origin.description) has no channel \"\(printable(channel))\"; it has "
                + few + (names.count > Self.namedCountMax ? " and others" : ""))
    }

    /// More names help nobody.
    private static let namedCountMax = 8

    /// The channels that an origin says it has; none if it says nothing.
    private func channels(at origin: OriginLocation) throws(StoreError) -> [String] {
        do throws(StoreError) {
            return try access.channelNames(at: origin).map(\.description)
        } catch {
            if error.code == .interrupted { throw error }
            // The error to report is that there is no release; this would only make it clearer.
            return []
        }
    }
}
