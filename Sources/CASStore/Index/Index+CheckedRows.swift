// Rows for a check of all objects: many at once, each page of the table and of its index read once.

/// What the index says of one object, as far as its bytes are concerned.
struct CheckedRow: Sendable {
    let address: ObjectID
    let byteCount: Int64
    let fingerprint: Fingerprint?
    let state: ObjectState?

    var isPresent: Bool { state == .present }
    var isDying: Bool { state == .dying }
}

extension Index {
    /// The objects whose address begins with a byte from `first` through `last`: by that byte, sorted.
    ///
    /// - Parameter scanning: read the whole table in its own order and then its index, which is many
    ///   times faster than going from one to the other, if much of the table is wanted. Each entry of
    ///   the index is held against its row.
    func checkedRows(
        from first: UInt8, through last: UInt8, scanning: Bool, _ connection: Connection
    ) throws(StoreError) -> [[CheckedRow]] {
        var rows = [[CheckedRow]](repeating: [], count: Int(last - first) + 1)
        let begin = [first]
        let end = [last] + [UInt8](repeating: 255, count: 32)
        guard scanning else {
            let found = try connection.statement(
                "SELECT address, bytes, fingerprint, state FROM object "
                    + "WHERE address >= ? AND address <= ? ORDER BY address")
            found.bind(1, begin).bind(2, end)
            while try found.step() {
                let row = try Self.checkedRow(found)
                rows[Int(row.address.w0 >> 56) - Int(first)].append(row)
            }
            return rows
        }
        var known: [(id: Int64, row: CheckedRow)] = []
        let table = try connection.statement(
            "SELECT address, bytes, fingerprint, state, id FROM object NOT INDEXED "
                + "WHERE address >= ? AND address <= ? ORDER BY id")
        table.bind(1, begin).bind(2, end)
        while try table.step() {
            known.append((table.integer(4), try Self.checkedRow(table)))
        }
        let order = try connection.statement(
            "SELECT address, id FROM object WHERE address >= ? AND address <= ? ORDER BY address")
        order.bind(1, begin).bind(2, end)
        defer { order.reset() }
        for position in rows.indices { rows[position].reserveCapacity(known.count / rows.count) }
        var count = 0
        while try order.step() {
            guard let row = Self.row(order.integer(1), in: known),
                row.address == order.address(0)
            else { throw Self.disagreement }
            rows[Int(row.address.w0 >> 56) - Int(first)].append(row)
            count += 1
        }
        guard count == known.count else { throw Self.disagreement }
        return rows
    }

    private static var disagreement: StoreError {
        StoreError(.index, "the index of addresses disagrees with the objects")
    }

    private static func checkedRow(_ row: Statement) throws(StoreError) -> CheckedRow {
        guard let address = row.address(0) else {
            throw StoreError(.index, "the index holds a damaged address")
        }
        return CheckedRow(
            address: address, byteCount: row.integer(1), fingerprint: row.fingerprint(2),
            state: ObjectState(rawValue: row.integer(3)))
    }

    /// The row with an id, in rows sorted by it; ids are dense as long as little is collected.
    private static func row(
        _ id: Int64, in rows: [(id: Int64, row: CheckedRow)]
    ) -> CheckedRow? {
        guard let first = rows.first else { return nil }
        let guess = id - first.id
        if guess >= 0, guess < rows.count, rows[Int(guess)].id == id { return rows[Int(guess)].row }
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < rows.count && rows[low].id == id ? rows[low].row : nil
    }
}
