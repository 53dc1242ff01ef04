package import CASStore

/// Which packs lead to a manifest: the document that a release of a channel names.
///
/// Immutable, and named by the SHA-256 of its bytes: `deliveries/<address>.json`. It only saves: everything
/// can be had without it, object by object.
package struct Delivery: Sendable, Hashable {
    /// The version of the format.
    static let formatVersion: Int64 = 1
    /// The largest delivery, in bytes.
    package static let byteCountMax: Int64 = 256 << 10
    /// The most packs of one delivery.
    static let packCountMax = 64
    /// How deep its text may nest.
    static let depthMax = 8

    /// A pack as a delivery describes it.
    package struct Pack: Sendable, Hashable {
        /// The SHA-256 of its bytes, which gives its place.
        package var address: ObjectID
        /// Its size.
        package var byteCount: Int64
        /// The bytes of its beginning, which a device needs before all else: head, table, and the manifest's frame.
        package var openingByteCount: Int64
        /// How many objects come out.
        package var objectCount: Int64
        /// The bytes of these objects.
        package var contentByteCount: Int64
        /// The content whose objects must be there; `nil` for a pack of everything.
        package var base: ObjectID?
        /// The numbers of the codecs of its frames, sorted.
        package var codecs: [Int64]
        /// The memory that decoding needs besides mapped files, in bytes.
        package var memoryByteCount: Int64

        /// Whether this castree has its codecs and the memory that it takes.
        var isReadable: Bool {
            codecs.allSatisfy { UInt8(exactly: $0).flatMap(PackCodec.init(rawValue:)) != nil }
                && memoryByteCount <= Self.memoryByteCountMax
        }

        /// The most memory that this castree spends on decoding.
        static let memoryByteCountMax: Int64 = 16 << 20
    }

    /// The manifest to which all packs lead.
    package var manifest: ObjectID
    /// The packs, in no particular order.
    package var packs: [Pack]
}

/// Where a release's delivery is: its address, its size and its epoch, as the pointer names them.
package struct PublishedDelivery: Sendable, Hashable {
    /// The SHA-256 of its bytes, which gives its place.
    package var address: ObjectID
    /// The number of its bytes.
    package var byteCount: Int64
    /// The epoch in which it stands, with all its packs.
    package var epoch: Int64

    package init(address: ObjectID, byteCount: Int64, epoch: Int64 = 0) {
        self.address = address
        self.byteCount = byteCount
        self.epoch = epoch
    }
}
