public import CASStore

extension Manifest {
    /// The address of what the version contains, whatever its name and whenever it was made: bans
    /// are kept by it, and content that is added again is recognized by it.
    ///
    /// SHA-256 over `castree-content 1\n` and for each entry, in order: the path, NUL, `x` or `-`,
    /// the 32 bytes of the address, then each route and NUL, sorted by bytes, then NUL.
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

    /// What the index needs to know.
    ///
    /// - Parameter manifest: the address of the canonical bytes.
    package func registration(manifest: ObjectID) throws(StoreError) -> Registration {
        var registration = Registration(
            name: version.description, manifest: manifest, content: try contentAddress(),
            fileCount: Int64(count), byteCount: byteCount, createdAt: createdAt,
            ordinal: ordinal, references: references)
        registration.recovery = recovered != nil ? .partial : lacksFields ? .whole : .none
        return registration
    }

    /// The distinct objects it names: those of its entries, the publisher's manifest, and what it named before it was
    /// made again.
    package var references: References {
        // As if each were one more entry at the end; the same bytes may well be a file of the version.
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

    /// The objects that the records at the positions in `order` name.
    static func references(_ order: [UInt32], of records: [Record]) -> References {
        References(count: order.count, position: { Int(order[$0]) }) { index in
            let record = records[Int(order[index])]
            return Reference(address: record.address, byteCount: record.byteCount)
        }
    }
}
