extension Store {
    /// Stores bytes that are in memory, as a pull does that brings one content.
    /// - Returns: their address. The lease protects the object; a version must name it before the
    ///   lease ends, or the next collection takes it.
    package func put(
        _ bytes: [UInt8], protectedBy lease: borrowing Lease
    ) throws(StoreError) -> ObjectID {
        var hasher = try ObjectHasher()
        let address = bytes.withUnsafeBytes { hasher.hash($0).address }
        let reference = Reference(address: address, byteCount: Int64(bytes.count))
        try reserve(
            References(count: 1, position: { $0 }, element: { _ in reference }), lease: lease)
        if try unproven([address]).isEmpty,
            let there = try objects.status(address), there.kind == .regular,
            there.byteCount == reference.byteCount
        {
            return address
        }
        let incoming = try IncomingContents(self)
        var item = try incoming.begin(address, byteCount: reference.byteCount)
        if item.offset > 0 { try item.restart() }
        try item.append(bytes.span.bytes)
        _ = try item.finish()
        try incoming.commit()
        return address
    }
}

extension TemporaryStore {
    /// Where an object stands.
    package func objectPath(_ address: ObjectID, executable: Bool = false) -> String {
        let digits = address.description
        return "\(path)/objects/\(digits.prefix(2))/\(digits.dropFirst(2))"
            + (executable ? ".x" : "")
    }

    package func objectPath(of text: String) throws -> String {
        objectPath(try address(of: text))
    }

    package func objectPath(of file: String, in version: String) throws -> String {
        let entries = try versions.manifest(of: version).entries
        guard let entry = entries.first(where: { $0.path.description == file }) else {
            throw StoreError(.notFound, "no \(file) in \(version)")
        }
        return objectPath(entry.address)
    }
}
