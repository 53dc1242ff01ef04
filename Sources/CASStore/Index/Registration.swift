/// An object that a version names, with its size.
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

/// The distinct objects of a version, sorted by address; computed, because a manifest may have a million.
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

package struct Registration: Sendable {
    package var name: String
    /// The address of the manifest's canonical bytes.
    package var manifest: ObjectID
    /// The address of the version's content, independent of its name.
    package var content: ObjectID
    package var fileCount: Int64
    package var byteCount: Int64
    /// Seconds since 1970; for people, never for decisions.
    package var createdAt: Int64
    /// Orders versions; clocks do not.
    package var ordinal: Int64
    package var recovery = Recovery.none
    package var references: References
    /// The file with these facts, if it was read or written just now; `nil` for whichever file is there.
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

/// Reads manifests for the index, on behalf of the module that knows the format.
package protocol ManifestReading: Sendable {
    /// The largest manifest file that is read, in bytes.
    var byteCountMax: Int { get }

    /// - Throws: an error that says what is wrong with the bytes, which must be treated as hostile.
    func registration(
        of name: String, from file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Registration

    /// Whether anything but its manifest mentions a version.
    func isSpokenOf(
        _ version: String, _ directories: StoreDirectories, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool
}

package struct VersionRow: Sendable, Hashable {
    package var id: Int64
    package var name: String
    package var manifest: ObjectID
    package var content: ObjectID
    package var fileCount: Int64
    package var byteCount: Int64
    package var uniqueByteCount: Int64
    package var isComplete: Bool
    package var recovery: Recovery
    package var createdAt: Int64
    package var ordinal: Int64
}

/// Whether a manifest was rebuilt, so that one that says more replaces it; the index stores the raw values.
package enum Recovery: Int64, Sendable {
    /// The manifest is its writer's.
    case none
    /// It may be missing something, so the version is never complete.
    case partial
    /// It says all but what only its publisher knows: routes, labels, fields.
    case whole
}
