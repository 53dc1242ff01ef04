/// What a collection would delete, and why, decided without changing anything.
public struct CollectionPlan: Sendable {
    package enum Reason: Sendable, Hashable {
        /// No version has named it since this one was retired.
        case retired(RetiredVersion)
        /// No version would name it once this one is retired.
        case retiring(version: String)
        /// No version is known to name or have named it: a writer did not finish, or the index was rebuilt since.
        case neverNamed
        case damaged
        /// It is a part of an object, and no version waits for the rest.
        case partial
    }

    package struct Garbage: Sendable, Hashable {
        package let address: ObjectID
        package let byteCount: Int64
        package let reason: Reason
        package internal(set) var diskByteCount: Int64 = 0
    }

    /// Cached parts of packs for buckets that have not been used for a month.
    package struct Packing: Sendable, Hashable {
        /// How many buckets they were for.
        package internal(set) var places = 0
        package internal(set) var byteCount: Int64 = 0
        /// The disk usage of the files and their directories, in bytes.
        package internal(set) var diskByteCount: Int64 = 0
    }

    /// The objects that no version and no running writer references.
    package var objects: [Garbage] = []
    package internal(set) var quarantined: [Garbage] = []
    /// Partial objects that no version waits for.
    package internal(set) var staged: [Garbage] = []
    /// Caches that go as well; counted only in ``diskByteCount``, not in the other sums.
    package internal(set) var packing = Packing()

    /// The number of files to delete.
    public var objectCount: Int { objects.count + quarantined.count + staged.count }
    /// The total size of those files.
    ///
    /// Space is freed only when the last tree that shows a file is gone, too.
    public var byteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(0) { $0 + $1.byteCount }
    }
    /// The disk usage of everything that is deleted, in bytes; objects count with rounded sizes.
    package var diskByteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(packing.diskByteCount) {
            $0 + $1.diskByteCount
        }
    }
}

/// The result of a collection.
public struct Collected: Sendable, Hashable {
    /// The number of deleted files.
    public internal(set) var objectCount = 0
    /// Their total size.
    public internal(set) var byteCount: Int64 = 0
    package internal(set) var packing = CollectionPlan.Packing()
    package internal(set) var diskByteCount: Int64 = 0
}
