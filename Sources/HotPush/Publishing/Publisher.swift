public import CASStore
import Storage
public import VersionTree

/// Writes versions of a store to an origin in a directory, and says what its channels offer.
///
/// An origin is a directory that any web server can serve (`docs/origin-format.md`). What it offers is decided by its log,
/// so publishers and pruners in all processes, and on all machines that share the directory, may work at once. Readers need
/// no lock: files come first, then the entry of the log, and last the channel's pointer, replaced in one step. Nothing
/// that is already there is written again, so repeating an interrupted call continues it.
///
/// An origin without a log, which an older castree has made, gets one with the first call that writes to it.
public struct Publisher: Sendable {
    /// The origin's directory.
    package let path: String
    /// How it works.
    package var options: PublisherOptions
    private let fileSystem: any FileSystem
    /// Seconds since 1970.
    private let now: @Sendable () -> Int64

    /// Makes a publisher; nothing is opened or made yet.
    public init(_ path: String, options: PublisherOptions = PublisherOptions()) {
        self.init(path, options: options, fileSystem: POSIXFileSystem(), now: { secondsNow() })
    }

    /// For tests: over another file system and clock.
    package init(
        _ path: String, options: PublisherOptions, fileSystem: any FileSystem,
        now: @escaping @Sendable () -> Int64
    ) {
        self.path = path
        self.options = options
        // Root publishes to another user's origin as that user; who may not is told when something is written.
        self.fileSystem = OwnersFileSystem.around(fileSystem, directory: path)
        self.now = now
    }

    private var directory: OriginDirectory {
        OriginDirectory(path: path, options: options, fileSystem: fileSystem)
    }

    /// The engine over the directory.
    ///
    /// - Parameter isCreating: whether the directory is made if there is none; its parent must exist.
    /// - Throws: `.noOrigin`; `.badOrigin` for a directory that is something else; `.unsupportedFormat`; `.insideStore`.
    package func engine(isCreating: Bool = false) throws(StoreError) -> OriginPublisher {
        OriginPublisher(
            try directory.open(isCreating: isCreating), options: options, now: now)
    }

    /// The engine over a directory as it would be: nothing is written.
    /// - Throws: as ``engine(isCreating:)``.
    package func draft(isCreating: Bool = false) throws(StoreError) -> OriginPublisher {
        OriginPublisher(
            try directory.draft(isCreating: isCreating), options: options, now: now)
    }

    /// What publishing a version would write; writes nothing and takes no lock.
    /// - Throws: as ``publish(_:of:as:)``.
    public func plan(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        try draft(isCreating: true).plan(name, of: versions, as: offer)
    }

    /// Writes a version to the origin and offers it at the head of a channel.
    ///
    /// Makes the origin if there is none. What the call acknowledges survives a power cut.
    /// - Returns: what was committed; its plan says what was written: nothing if the channel already offered exactly this.
    /// - Throws: `.noVersion`; `.incompleteVersion`; `.insideStore`; `.badManifest` if the manifest is damaged or
    ///   not the registered one; `.damagedObject` if the store's bytes are wrong: then the channel offers what it
    ///   did before; `.versionExists` if the origin offers other content under the name; `.damagedOrigin`,
    ///   `.outOfSpace`, `.interrupted`.
    @discardableResult
    public func publish(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> OriginCommit {
        // Nothing is made for what cannot be published.
        let described = try Self.describe(name, of: versions, offer, options.limits)
        return try engine(isCreating: true).publish(name, of: versions, as: offer, described).seen()
    }

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
    ///   version; `.damagedOrigin`, `.outOfSpace`.
    public func withdraw(
        _ version: VersionName, from channel: ChannelName = .stable, toEmbedded: Bool = false
    ) throws(StoreError) -> ChannelPointer {
        var publisher = self
        publisher.options.isWithdrawing = true
        return try publisher.engine().withdraw(version, from: channel, toEmbedded: toEmbedded)
            .seen().pointer
    }
}

extension OriginCommit {
    /// The commit, if devices see it.
    /// - Throws: why the pointer could not be written: the commit stands, and the next command writes it.
    package func seen() throws(StoreError) -> OriginCommit {
        guard let pointerProblem else { return self }
        throw StoreError(
            pointerProblem.code,
            "channel \(pointer.channel) offers what it did before: entry \(entry) of the log is written, but the pointer could "
                + "not be; repeat the command, or give any other on the channel (\(pointerProblem.message))",
            cause: pointerProblem.cause)
    }
}
