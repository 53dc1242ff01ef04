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
        package let address: ObjectID
        /// Its size in bytes.
        package let byteCount: Int64
        /// Why it is deleted.
        package let reason: Reason
        /// What it takes on disk, in bytes.
        package internal(set) var diskByteCount: Int64 = 0
    }

    /// What packs for buckets were made of, and nobody has used for a month.
    package struct Packing: Sendable, Hashable {
        /// For how many buckets.
        package internal(set) var places = 0
        /// The sizes of the files, in bytes.
        package internal(set) var byteCount: Int64 = 0
        /// What they and their directories take on disk, in bytes.
        package internal(set) var diskByteCount: Int64 = 0
    }

    /// The objects that no version and no running writer references.
    package var objects: [Garbage] = []
    /// Damaged objects in quarantine.
    package internal(set) var quarantined: [Garbage] = []
    /// Partial objects that no version waits for.
    package internal(set) var staged: [Garbage] = []
    /// What goes besides: no part of the sums below, but of ``diskByteCount``.
    package internal(set) var packing = Packing()

    /// How many files to delete.
    public var objectCount: Int { objects.count + quarantined.count + staged.count }
    /// How many bytes they hold.
    ///
    /// Space comes back only when the last tree that shows a file is gone, too.
    public var byteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(0) { $0 + $1.byteCount }
    }
    /// What everything that is deleted takes on disk, in bytes: blocks, rounded for objects as the file system does.
    package var diskByteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(packing.diskByteCount) {
            $0 + $1.diskByteCount
        }
    }
}

/// What a collection has deleted.
public struct Collected: Sendable, Hashable {
    /// How many files.
    public internal(set) var objectCount = 0
    /// How many bytes they held.
    public internal(set) var byteCount: Int64 = 0
    /// What was made for packs, besides.
    package internal(set) var packing = CollectionPlan.Packing()
    /// What all of this took on disk, in bytes; see ``CollectionPlan/diskByteCount``.
    package internal(set) var diskByteCount: Int64 = 0
}
