public import CASStore
public import HotPush
package import Storage
public import VersionTree

/// Writes versions of a store to an origin, and changes what its channels offer.
///
/// An origin is a directory that any web server can serve, or the same files in a bucket (`docs/origin-format.md`,
/// `docs/buckets.md`). Its log decides what it offers, so publishers and pruners in all processes, and on all machines
/// that share it, may work at once.
/// Readers need no lock: files come first, then the entry of the log, and last the channel's pointer, replaced
/// atomically. Existing files are not written again, so repeating an interrupted call continues it.
///
/// An origin without a log, made by an older castree, gets one with the first call that writes to it.
public struct Publisher: Sendable {
    package var options: PublisherOptions
    private let open: Opening
    private let now: @Sendable () -> Int64
    private let pause: @Sendable (Int) -> Void

    private typealias Opening =
        @Sendable (PublisherOptions, _ isCreating: Bool, _ isDraft: Bool) throws(StoreError) ->
        any ObjectStorage

    /// Prepares a publisher for a directory without opening or creating anything.
    public init(_ path: String, options: PublisherOptions = PublisherOptions()) {
        self.init(path, options: options, fileSystem: POSIXFileSystem(), now: { secondsNow() })
    }

    /// Prepares a publisher for an origin in a bucket, without a request.
    ///
    /// A bucket keeps what it acknowledges and needs no lock, so ``PublisherOptions/isDurable`` and
    /// ``PublisherOptions/waitLimit`` mean nothing.
    public init(_ bucket: OriginBucket, options: PublisherOptions = PublisherOptions()) {
        self.init(bucket.storage, options: options)
    }

    /// For tests, with another file system and clock.
    package init(
        _ path: String, options: PublisherOptions, fileSystem: any FileSystem,
        now: @escaping @Sendable () -> Int64
    ) {
        // Root publishes to another user's origin as that user; a missing right is reported by the first write.
        let fileSystem = OwnersFileSystem.around(fileSystem, directory: path)
        self.init(options, now) { (options, isCreating, isDraft) throws(StoreError) in
            let directory = OriginDirectory(path: path, options: options, fileSystem: fileSystem)
            if isDraft { return try directory.draft(isCreating: isCreating) }
            return try directory.open(isCreating: isCreating)
        }
    }

    /// Prepares a publisher for an origin anywhere, without a request.
    package init(
        _ storage: any ObjectStorage, options: PublisherOptions,
        now: @escaping @Sendable () -> Int64 = { secondsNow() },
        pause: @escaping @Sendable (Int) -> Void = { CASStore.pause(milliseconds: Int32($0)) }
    ) {
        self.init(options, now, pause) { (_, _, _) in storage }
    }

    private init(
        _ options: PublisherOptions, _ now: @escaping @Sendable () -> Int64,
        _ pause: @escaping @Sendable (Int) -> Void = { CASStore.pause(milliseconds: Int32($0)) },
        _ open: @escaping Opening
    ) {
        (self.options, self.now, self.pause, self.open) = (options, now, pause, open)
    }

    /// - Parameters:
    ///   - isCreating: whether to create a missing directory; its parent must exist.
    ///   - isDraft: whether to write nothing.
    /// - Throws: `.noOrigin`; `.badOrigin` for a directory that is something else; `.unsupportedFormat`;
    ///   `.insideStore`.
    package func engine(
        isCreating: Bool = false, isDraft: Bool = false
    ) throws(StoreError) -> OriginPublisher {
        OriginPublisher(
            try open(options, isCreating, isDraft), options: options, now: now, pause: pause)
    }

    /// What publishing a version would write; writes nothing and takes no lock.
    /// - Throws: as ``publish(_:of:as:)``.
    public func plan(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        try engine(isCreating: true, isDraft: true).plan(name, of: versions, as: offer)
    }

    /// Writes a version to the origin and offers it at the head of a channel.
    ///
    /// Makes the origin if there is none. What the call acknowledges survives a power cut.
    /// - Returns: what was committed; its plan says what was written, which is nothing for an unchanged offer.
    /// - Throws: `.noVersion`; `.incompleteVersion`; `.insideStore`; `.badManifest` if the manifest is damaged or not
    ///   the registered one; `.damagedObject` if the store's bytes are wrong, in which case the channel's offer does
    ///   not change; `.versionExists` if the origin offers other content under the name; `.damagedOrigin`,
    ///   `.outOfSpace`, `.interrupted`.
    @discardableResult
    public func publish(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> OriginCommit {
        // Nothing is created for a version that cannot be published.
        let described = try Self.describe(name, of: versions, offer, options.limits)
        return try engine(isCreating: true).publish(name, of: versions, as: offer, described).seen()
    }

    /// Takes a version out of a channel: each device goes to the first remaining release for it.
    ///
    /// Its files stay until ``collect(_:)`` finds that no channel offers them. A device that has the version and is
    /// offered nothing keeps it.
    /// - Parameters:
    ///   - version: the release to withdraw.
    ///   - channel: the channel that offers it.
    ///   - toEmbedded: whether to offer what was shipped with the app at the head of the channel, so that every
    ///     device rolls back to it.
    /// - Returns: what the channel offers afterwards.
    /// - Throws: `.noOrigin`; `.notOffered` if there is no such channel or it does not offer the version;
    ///   `.damagedOrigin`, `.outOfSpace`.
    public func withdraw(
        _ version: VersionName, from channel: ChannelName = .stable, toEmbedded: Bool = false
    ) throws(StoreError) -> ChannelPointer {
        var publisher = self
        publisher.options.isWithdrawing = true
        return try publisher.engine().withdraw(version, from: channel, toEmbedded: toEmbedded)
            .seen().pointer
    }

    // The store's collector must not delete what is being copied. If no pin can be made, this process cannot retire
    // anything either; somebody else's store may change, and the copying notices that.
    static func pin(_ name: String, of versions: VersionStore) throws(StoreError) -> VersionPin? {
        try allowing([.readOnly, .permission], try versions.pin(name))
    }

    /// A version's files, and what a channel says of them.
    package typealias Description = (manifest: Manifest, version: PublishedVersion)

    package static func describe(
        _ name: String, of versions: VersionStore, _ offer: ReleaseOffer,
        _ limits: DeviceLimits? = nil
    ) throws(StoreError) -> Description {
        try offer.validate()
        let manifest = try versions.registeredManifest(of: name)
        let missing = try versions.missing(of: name)
        guard missing.isEmpty else {
            let byteCount = missing.reduce(0) { $0 + $1.bytes }
            throw StoreError(
                .incompleteVersion,
                "version \(name) is missing \(counted(missing.count, "object")) (\(sizeText(byteCount))) and is not "
                    + "published; add or pull it again")
        }
        var digester = try Digester(.sha256)
        var byteCount: Int64 = 0
        try manifest.serialize { (piece) throws(StoreError) in
            piece.withUnsafeBytes { digester.update($0) }
            byteCount += Int64(piece.count)
        }
        if let objection = try limits?.objection(to: manifest, byteCount: byteCount) {
            throw StoreError(
                .tooLarge,
                "version \(name) is not published, because devices would refuse it: \(objection); give publish the "
                    + "--max-entries that your devices have")
        }
        let version = PublishedVersion(
            name: manifest.version, manifest: digester.finish { ObjectID(unchecked: $0) },
            manifestByteCount: byteCount, content: try manifest.contentAddress())
        return (manifest, version)
    }

    static func mending(_ version: PublishedVersion, _ channel: ChannelName) -> String {
        "version \(version.name) is not the newest of channel \(channel): it is checked and mended, and not offered again"
    }
}

/// How a version is offered: in which channel, and to whom.
public struct ReleaseOffer: Sendable, Hashable {
    /// The channel at whose head it stands.
    public var channel: ChannelName
    /// Which devices may have it; `nil` for all.
    public var rollout: Rollout?
    /// What an app must satisfy to run it.
    public var requirements: [Requirement]
    /// Whether an app must install it before continuing.
    public var isMandatory: Bool

    /// Creates an offer; by default to everybody in the channel `stable`.
    public init(
        channel: ChannelName = .stable, rollout: Rollout? = nil, requirements: [Requirement] = [],
        isMandatory: Bool = false
    ) {
        self.channel = channel
        self.rollout = rollout
        self.requirements = requirements
        self.isMandatory = isMandatory
    }

    /// - Throws: `.badPointer` for a roll-out or requirement that a pointer may not have.
    func validate() throws(StoreError) {
        if let problem = rollout?.problem ?? requirements.problemOfOffer {
            throw StoreError(.badPointer, "the offer is refused: \(problem)")
        }
    }

    /// The release of a target; the pointer sets its sequence.
    func release(_ target: ChannelRelease.Target) -> ChannelRelease {
        // A roll-out to everybody is no roll-out.
        let isPartial = (rollout?.perMille ?? 1000) < 1000
        return ChannelRelease(
            target, sequence: 1, createdAt: 0, rollout: isPartial ? rollout : nil,
            requirements: requirements, isMandatory: isMandatory)
    }
}
