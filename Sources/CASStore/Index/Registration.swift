/// One object that a version names, and its size.
public struct Reference: Hashable, Sendable, Comparable {
    /// The object.
    public let address: ObjectID
    /// Its size in bytes, as the manifest promises it.
    public let byteCount: Int64
    package init(address: ObjectID, byteCount: Int64) {
        self.address = address
        self.byteCount = byteCount
    }

    /// Orders by address.
    public static func < (left: Reference, right: Reference) -> Bool {
        left.address < right.address
    }
}

/// The distinct objects of a version, sorted by address; computed, not stored, because a manifest may
/// have a million.
package struct References: Sendable, RandomAccessCollection {
    package let count: Int
    private let element: @Sendable (Int) -> Reference
    private let position: @Sendable (Int) -> Int

    package init(
        count: Int, position: @escaping @Sendable (Int) -> Int,
        element: @escaping @Sendable (Int) -> Reference
    ) {
        self.count = count
        self.position = position
        self.element = element
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }
    package subscript(index: Int) -> Reference { element(index) }

    /// The position in the manifest at which a reference first occurs.
    package func manifestPosition(_ index: Int) -> Int { position(index) }
}

/// What the index needs to know of a version, taken from its manifest.
package struct Registration: Sendable {
    /// The version's name.
    package var name: String
    /// The address of the manifest's canonical bytes.
    package var manifest: ObjectID
    /// The address of what the version contains, whatever it is called.
    package var content: ObjectID
    package var fileCount: Int64
    package var byteCount: Int64
    /// Seconds since 1970; for people, never for decisions.
    package var createdAt: Int64
    /// Orders versions; clocks do not.
    package var ordinal: Int64
    /// Whether its manifest was made again from what is left.
    package var recovery = Recovery.none
    package var references: References
    /// The file that says all this, if it was read or written just now; `nil` for whichever file is
    /// there.
    package var file: HeldFile?

    package init(
        name: String, manifest: ObjectID, content: ObjectID, fileCount: Int64, byteCount: Int64,
        createdAt: Int64, ordinal: Int64, references: References
    ) {
        self.name = name
        self.manifest = manifest
        self.content = content
        self.fileCount = fileCount
        self.byteCount = byteCount
        self.createdAt = createdAt
        self.ordinal = ordinal
        self.references = references
    }
}

/// Reads manifests for the index.
///
/// The module that knows the format gives one to the store.
package protocol ManifestReading: Sendable {
    /// The largest manifest file that is read, in bytes.
    var byteCountMax: Int { get }

    /// The registration in the manifest file of the version `name`.
    /// - Throws: an error that says what is wrong with the bytes; they come from the store's own
    ///   disk and MUST still be treated as hostile.
    func registration(
        of name: String, from file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Registration

    /// Whether anything but its manifest mentions a version.
    func isSpokenOf(
        _ version: String, _ directories: StoreDirectories, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool
}

/// A registered version, as the index knows it.
package struct VersionRow: Sendable, Hashable {
    package var id: Int64
    package var name: String
    package var manifest: ObjectID
    package var content: ObjectID
    package var fileCount: Int64
    package var byteCount: Int64
    /// What retiring the version would free, once collected.
    package var uniqueByteCount: Int64
    package var isComplete: Bool
    /// Whether its manifest was made again from what is left.
    package var recovery: Recovery
    package var createdAt: Int64
    package var ordinal: Int64
}

/// Whether a manifest was made again from what was left of its version: one that says more replaces it.
///
/// The index stores the raw values.
package enum Recovery: Int64, Sendable {
    /// The manifest is its writer's.
    case none
    /// Nobody knows whether it says all: the version is never complete.
    case partial
    /// It says all but what only its publisher knows: routes, labels, fields.
    case whole
}
