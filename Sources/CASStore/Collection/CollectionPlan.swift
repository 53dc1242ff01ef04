/// What a collection would delete, and why: decided without changing anything.
public struct CollectionPlan: Sendable {
    /// Why a file is deleted.
    package enum Reason: Sendable, Hashable {
        /// No version names it since this one was retired.
        case retired(RetiredVersion)
        /// No version would name it once this one is retired.
        case retiring(version: String)
        /// No version names it, and none is known that did: a writer stored it and did not finish, or
        /// the index was made again after its version was retired.
        case neverNamed
        /// It was damaged, and a repair took it away.
        case damaged
        /// It is a part of an object, and no version waits for the rest.
        case partial
    }

    /// A file to delete.
    package struct Garbage: Sendable, Hashable {
        /// The object.
        package let address: ObjectID
        /// Its size in bytes.
        package let byteCount: Int64
        /// Why it is deleted.
        package let reason: Reason
    }

    /// The objects that no version and no running writer references.
    package internal(set) var objects: [Garbage] = []
    /// Damaged objects in quarantine.
    package internal(set) var quarantined: [Garbage] = []
    /// Partial objects that no version waits for.
    package internal(set) var staged: [Garbage] = []

    /// How many files to delete.
    public var objectCount: Int { objects.count + quarantined.count + staged.count }
    /// How many bytes they hold.
    ///
    /// Space comes back only when the last tree that shows a file is gone, too.
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
