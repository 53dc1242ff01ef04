// Rows for a check of all objects: the shards of a block in one transaction.

/// What the index says of one object, as far as its bytes are concerned.
struct CheckedRow: Sendable {
    let address: ObjectID
    let byteCount: Int64
    let fingerprint: Fingerprint?
    let state: ObjectState?

    var isPresent: Bool { state == .present }
    var isDying: Bool { state == .dying }
}

extension IndexTransaction {
    /// The objects whose address begins with a byte from `first` through `last`: by that byte, sorted.
    ///
    /// They are read by the index of addresses, so that a row which that index does not lead to is
    /// missed here, and its object found to be unknown.
    func checkedRows(from first: UInt8, through last: UInt8) throws(StoreError) -> [[CheckedRow]] {
        var rows = [[CheckedRow]](repeating: [], count: Int(last - first) + 1)
        let found = try statement(
            "SELECT address, bytes, fingerprint, state FROM object "
                + "WHERE address >= ? AND address <= ? ORDER BY address")
        found.bind(1, [first]).bind(2, [last] + [UInt8](repeating: 255, count: 32))
        while try found.step() {
            let address = try found.requiredAddress(0)
            rows[Int(address.w0 >> 56) - Int(first)].append(
                CheckedRow(
                    address: address, byteCount: found.integer(1),
                    fingerprint: found.fingerprint(2),
                    state: ObjectState(rawValue: found.integer(3))))
        }
        return rows
    }
}
