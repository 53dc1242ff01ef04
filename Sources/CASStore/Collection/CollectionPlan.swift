/// What a collection would delete: decided without changing anything.
public struct CollectionPlan: Sendable {
    /// An object that nothing references.
    public struct Garbage: Sendable, Hashable {
        /// The object.
        public let address: ObjectID
        /// Its size in bytes.
        public let byteCount: Int64
    }

    /// The objects that no version and no running writer references.
    public internal(set) var objects: [Garbage] = []
    /// Damaged objects in quarantine.
    public internal(set) var quarantined: [Garbage] = []
    /// Partial objects that no version waits for.
    public internal(set) var staged: [Garbage] = []

    /// How many files go.
    public var objectCount: Int { objects.count + quarantined.count + staged.count }
    /// How many bytes they hold.
    ///
    /// Space comes back when the last tree that shows a file is gone too.
    public var byteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(0) { $0 + $1.byteCount }
    }
}

/// What a collection has deleted.
public struct Collected: Sendable, Hashable {
    /// How many files.
    public internal(set) var objectCount = 0
    /// How many bytes they held.
    public internal(set) var byteCount: Int64 = 0
}
