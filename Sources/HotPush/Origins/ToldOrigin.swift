package import CASStore
package import VersionTree

/// An origin for whoever tells the clients of other systems what it offers: a directory whose lock is held, or a bucket in
/// the middle of a commit.
///
/// Paths are those of ``OriginLayout``. All calls may throw what reading and writing throws. Belongs to one thread.
package protocol ToldOrigin {
    /// The origin, as the caller named it.
    var path: String { get }
    /// Gets notices about what happens unasked.
    var notice: @Sendable (String) -> Void { get }

    /// Whether any system was ever enabled, as far as is known without reading.
    func hasClients() throws(StoreError) -> Bool
    /// The bytes of a configuration or a history; `nil` if there is none.
    /// - Throws: `.tooLarge` beyond `limit` bytes.
    func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]?
    /// Takes a history that nobody reads for one of a stranger: from now on what was offered before it counts.
    /// - Parameter isRead: whether bytes are a history that is read.
    /// - Returns: whether nothing is lost by that, since the origin keeps all that it was told.
    func goBack(
        from path: String, where isRead: ([UInt8]) -> Bool
    ) throws(StoreError) -> Bool
    /// Replaces a configuration or a history, durably before the pointer that follows can be read.
    func replace(_ path: String, with bytes: [UInt8]) throws(StoreError)
    /// Ends what a configuration says.
    func remove(_ path: String) throws(StoreError)
    /// Writes a document that never changes, durably, unless it is there.
    /// - Parameter epoch: that in which a history names it already; `nil` for a new one.
    /// - Returns: the epoch in which it stands.
    func write(
        document bytes: [UInt8], _ address: ObjectID, of system: String, in epoch: Int64?
    ) throws(StoreError) -> Int64
    /// Whether a document is there, and is what its name says, as far as this publisher looks.
    func has(
        document address: ObjectID, _ byteCount: Int64, in epoch: Int64, of system: String
    ) throws(StoreError) -> Bool
    /// The files of a release; `nil` if it has no facts, or something is missing.
    func content(of release: OfferedRelease) throws(StoreError) -> (any ToldRelease)?
}

/// The files of a release from which the clients of other systems are told.
package protocol ToldRelease {
    /// The version's manifest.
    var manifest: Manifest { get }
    /// What is known of its objects.
    var facts: ContentFacts { get }
    /// Bytes of an object, which nobody has held against its address.
    /// - Throws: `.damagedOrigin` if it is not there, or has another size.
    func object(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8]
    /// The same of a twin.
    func twin(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8]
}
