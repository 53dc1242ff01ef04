package import CASStore

// The entries of a manifest one by one, without a value for each: for callers that read all.
extension Manifest {
    /// The bytes of all paths together.
    package var pathByteCount: Int { paths.count }

    /// The address of the entry at a position.
    package func address(at position: Int) -> ObjectID { records[position].address }

    /// How many directories its tree has below its own.
    package var directoryCount: Int {
        (0..<count).reduce(0) { total, position in
            let shared = position == 0 ? 0 : sharedDirectory(position - 1, position)
            return withPath(position) { path in
                total + path.indices.dropFirst(shared + 1).count { path[$0] == 47 }
            }
        }
    }

    /// Whether something hangs on its entries: routes, labels, fields of others.
    package var hasExtras: Bool { !extras.isEmpty || !foreign.isEmpty }

    /// The size of the entry at a position.
    package func byteCount(at position: Int) -> Int64 { records[position].byteCount }
}

extension Manifest {
    /// This manifest without the entries that have certain addresses.
    func without(_ addresses: Set<ObjectID>) throws(StoreError) -> Manifest {
        guard !addresses.isEmpty else { return self }
        return try Manifest(
            version: version, ordinal: ordinal, createdAt: createdAt,
            entries: entries.filter { !addresses.contains($0.address) })
    }

    /// Whether it was made again from a tree, without what only its publisher knows: routes, labels, fields.
    package var lacksFields: Bool { received?.format == Received.unknownFormat }

    /// Whether every entry of the other manifest is in this one with the same content.
    func includes(_ other: Manifest) -> Bool {
        other.entries.allSatisfy { entry in
            self[entry.path].map {
                $0.address == entry.address && $0.isExecutable == entry.isExecutable
            } ?? false
        }
    }
}
