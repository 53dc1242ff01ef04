package import CASStore

/// What the clients of other systems need to know of a version's objects: the file `facts/<address>.json`.
///
/// Made from the objects alone, named by the SHA-256 of its bytes; a release of a pointer names it.
package struct ContentFacts: Sendable, Hashable {
    /// One for each object of the version, sorted by address.
    package var objects: [ObjectFacts]

    /// Makes facts.
    package init(_ objects: [ObjectFacts]) {
        self.objects = objects.sorted { $0.address < $1.address }
    }

    /// The twins that they name, each once, in ascending order of addresses.
    package var twins: [ObjectFacts.Twin] {
        Set(objects.compactMap(\.twin)).sorted { $0.address < $1.address }
    }

    /// What is known of an object; `nil` if it is none of the version's.
    package subscript(address: ObjectID) -> ObjectFacts? {
        var range = objects[...]
        while let middle = range.indices.isEmpty
            ? nil : range.startIndex + range.count / 2
        {
            let found = objects[middle]
            if found.address == address { return found }
            range = found.address < address ? range[(middle + 1)...] : range[..<middle]
        }
        return nil
    }
}

/// Facts of one object.
package struct ObjectFacts: Sendable, Hashable {
    /// The object.
    package var address: ObjectID
    /// The number of its bytes.
    package var byteCount: Int64
    /// Their CRC-32 (ISO 3309).
    package var crc32: UInt32
    /// Their MD5: 32 lower-case hexadecimal digits.
    package var md5: String
    /// Its deflated twin; `nil` if that would not be smaller.
    package var twin: Twin?

    /// The object's bytes as raw DEFLATE (RFC 1951).
    package struct Twin: Sendable, Hashable {
        /// The SHA-256 of the twin's own bytes: where it stands.
        package var address: ObjectID
        /// Their number.
        package var byteCount: Int64

        /// Makes a twin.
        package init(address: ObjectID, byteCount: Int64) {
            self.address = address
            self.byteCount = byteCount
        }
    }

    /// Makes facts.
    package init(
        address: ObjectID, byteCount: Int64, crc32: UInt32, md5: String, twin: Twin?
    ) {
        self.address = address
        self.byteCount = byteCount
        self.crc32 = crc32
        self.md5 = md5
        self.twin = twin
    }
}
