public import CASStore

// The entries of a manifest one by one, without a value for each, for callers that read all.
extension Manifest {
    /// The total length of all paths.
    package var pathByteCount: Int { paths.count }

    package func address(at position: Int) -> ObjectID { records[position].address }

    /// The number of directories in the tree, without its root.
    package var directoryCount: Int {
        (0..<count).reduce(0) { total, position in
            let shared = position == 0 ? 0 : sharedDirectory(position - 1, position)
            return withPath(position) { path in
                total + path.indices.dropFirst(shared + 1).count { path[$0] == 47 }
            }
        }
    }

    /// Whether any entry has routes, labels or foreign fields, or the manifest has.
    package var hasExtras: Bool { !extras.isEmpty || !foreign.isEmpty }

    package func byteCount(at position: Int) -> Int64 { records[position].byteCount }

    /// This manifest without the entries that have certain addresses.
    func without(_ addresses: Set<ObjectID>) throws(StoreError) -> Manifest {
        guard !addresses.isEmpty else { return self }
        return try Manifest(
            version: version, ordinal: ordinal, createdAt: createdAt,
            entries: entries.filter { !addresses.contains($0.address) })
    }

    /// Whether it was rebuilt from a tree, without the routes, labels and fields that only its publisher knows.
    package var lacksFields: Bool { received?.format == Received.unknownFormat }

    /// Whether every entry of the other manifest is in this one with the same content.
    func includes(_ other: Manifest) -> Bool {
        other.entries.allSatisfy { entry in
            self[entry.path].map {
                $0.address == entry.address && $0.isExecutable == entry.isExecutable
            } ?? false
        }
    }

    /// A difference between two manifests at one path, by its positions in them.
    package enum Difference {
        /// Only in the older one.
        case removed(Int)
        /// Only in the newer one.
        case added(Int)
        /// The content or the executable bit differs.
        case changed(from: Int, to: Int)
    }

    /// Calls `body` for each path that differs from an older manifest, in path order, in linear time and no memory.
    package func forEachDifference(from old: Manifest, _ body: (Difference) -> Void) {
        var (left, right) = (0, 0)
        while left < old.count || right < count {
            let order = order(old, left, right)
            if order < 0 {
                body(.removed(left))
                left += 1
            } else if order > 0 {
                body(.added(right))
                right += 1
            } else {
                let (before, after) = (old.records[left], records[right])
                if before.address != after.address || before.isExecutable != after.isExecutable {
                    body(.changed(from: left, to: right))
                }
                left += 1
                right += 1
            }
        }
    }

    private func order(_ old: Manifest, _ left: Int, _ right: Int) -> Int {
        guard left < old.count else { return 1 }
        guard right < count else { return -1 }
        return old.withPath(left) { first in withPath(right) { first.compare($0) } }
    }

    package func hasFiles(below directory: TreePath) -> Bool {
        let prefix = Array("\(directory)/".utf8)
        let first = (0..<count).firstPosition { position in
            withPath(position) { $0.lexicographicallyPrecedes(prefix) }
        }
        return first < count && withPath(first) { $0.starts(with: prefix) }
    }

    /// The address of the version's content, independent of its name and time.
    ///
    /// Bans are kept by it, and content that is added again is recognized by it. SHA-256 over `castree-content 1\n`
    /// and for each entry, in order: the path, NUL, `x` or `-`, the 32 bytes of the address, then each route and NUL,
    /// sorted by bytes, then NUL.
    public func contentAddress() throws(StoreError) -> ObjectID {
        var digester = try Digester(.sha256)
        var buffer = Array("castree-content 1\n".utf8)
        func flush() {
            buffer.withUnsafeBytes { digester.update($0) }
            buffer.removeAll(keepingCapacity: true)
        }
        for position in 0..<count {
            withPath(position) { buffer.append(contentsOf: $0) }
            buffer.append(0)
            buffer.append(records[position].isExecutable ? 120 : 45)
            records[position].address.withBytes { buffer.append(contentsOf: $0) }
            if let routes = extras[position]?.routes {
                for route in routes.map({ Array($0.utf8) }).sorted(by: {
                    $0.lexicographicallyPrecedes($1)
                }) {
                    buffer.append(contentsOf: route)
                    buffer.append(0)
                }
            }
            buffer.append(0)
            if buffer.count > 32 * 1024 { flush() }
        }
        flush()
        return digester.finish { ObjectID(unchecked: $0) }
    }

    /// The facts that the index records.
    /// - Parameter manifest: the address of the canonical bytes.
    package func registration(manifest: ObjectID) throws(StoreError) -> Registration {
        var registration = Registration(
            name: version.description, manifest: manifest, content: try contentAddress(),
            fileCount: Int64(count), byteCount: byteCount, createdAt: createdAt,
            ordinal: ordinal, references: references)
        registration.recovery = recovered != nil ? .partial : lacksFields ? .whole : .none
        return registration
    }

    /// The distinct objects that it names: its entries', the publisher's manifest, and those in ``recovered``.
    package var references: References {
        // Treated as more entries at the end, since the same bytes may also be a file of the version.
        let more = (received.map { [$0.reference] } ?? []) + (recovered ?? [])
        let records =
            records
            + more.map {
                Record(
                    pathStart: 0, pathLength: 0, isExecutable: false, byteCount: $0.byteCount,
                    address: $0.address)
            }
        return Self.references(
            Self.distinct((0..<UInt32(records.count)).map { $0 }, records), of: records)
    }

    static func references(_ order: [UInt32], of records: [Record]) -> References {
        References(count: order.count, position: { Int(order[$0]) }) { index in
            let record = records[Int(order[index])]
            return Reference(address: record.address, byteCount: record.byteCount)
        }
    }
}
