// Objects as rows: what is on disk, and what nothing names.

struct ObjectRow: Sendable, Hashable {
    let id: Int64
    let address: ObjectID
    let byteCount: Int64
    let fingerprint: Fingerprint?
    /// `nil` if the row has an invalid value.
    let state: ObjectState?
    let references: Int64

    var isPresent: Bool { state == .present }
    /// A collector has announced its deletion; the file may be there or not.
    var isMarkedForDeletion: Bool { state == .markedForDeletion }
}

extension IndexTransaction {
    private static let objectColumns = "id, address, bytes, fingerprint, state, refs"
    private static let objectByAddress = "SELECT \(objectColumns) FROM object WHERE address = ?"

    /// - Returns: `nil` if its address is damaged.
    private func objectRow(_ row: Statement) -> ObjectRow? {
        guard let address = row.address(1) else { return nil }
        return ObjectRow(
            id: row.integer(0), address: address, byteCount: row.integer(2),
            fingerprint: row.fingerprint(3), state: ObjectState(rawValue: row.integer(4)),
            references: row.integer(5))
    }

    func object(_ address: ObjectID) throws(StoreError) -> ObjectRow? {
        try statement(Self.objectByAddress).bind(1, address).first(objectRow) ?? nil
    }

    /// Whether a version names an object of a size, on disk or not; scans all objects.
    func namesObject(of byteCount: Int64) throws(StoreError) -> Bool {
        try statement("SELECT 1 FROM object WHERE refs > 0 AND bytes = ? LIMIT 1")
            .bind(1, byteCount).step()
    }

    /// Up to `limit` addresses of objects on disk in a range, sorted.
    func present(
        from first: [UInt8], through last: [UInt8], limit: Int
    ) throws(StoreError) -> [ObjectID] {
        let found = try statement(
            "SELECT address FROM object WHERE address >= ? AND address <= ? AND state = 1 "
                + "ORDER BY address LIMIT ?")
        found.bind(1, first).bind(2, last).bind(3, Int64(limit))
        var result: [ObjectID] = []
        while try found.step() { if let address = found.address(0) { result.append(address) } }
        return result
    }

    /// The objects whose address begins with a byte from `first` through `last`: by that byte, sorted.
    ///
    /// Read by the index of addresses, so a row to which that index does not lead is missing here.
    func objects(from first: UInt8, through last: UInt8) throws(StoreError) -> [[ObjectRow]] {
        var rows = [[ObjectRow]](repeating: [], count: Int(last - first) + 1)
        let found = try statement(
            "SELECT \(Self.objectColumns) FROM object "
                + "WHERE address >= ? AND address <= ? ORDER BY address")
        found.bind(1, [first]).bind(2, [last] + [UInt8](repeating: 255, count: 32))
        while try found.step() {
            guard let row = objectRow(found) else {
                throw StoreError(.index, "the index holds a damaged address")
            }
            rows[Int(row.address.w0 >> 56) - Int(first)].append(row)
        }
        return rows
    }

    /// The largest id, an estimate of the number of objects.
    func lastObjectID() throws(StoreError) -> Int {
        Int(try statement("SELECT coalesce(max(id), 0) FROM object").firstInteger() ?? 0)
    }

    /// Records that an object is on disk, verified and durable; an unknown one is inserted without references.
    func setPresent(_ object: StoredObject) throws(StoreError) {
        let known = try self.object(object.address)
        guard let known else {
            let id = try nextObjectID()
            try statement(
                "INSERT INTO object (id, address, bytes, fingerprint, state, refs, keepers) "
                    + "VALUES (?, ?, ?, ?, 1, 0, 0)"
            )
            .bind(1, id).bind(2, object.address).bind(3, object.byteCount)
            .bind(4, object.fingerprint).run()
            return
        }
        // The real size replaces the promised one, and now counts for the object's only keeper.
        try shiftKeeper(
            of: known, by: object.byteCount - (known.isPresent ? known.byteCount : 0))
        try statement(
            "UPDATE object SET state = 1, bytes = ?, fingerprint = coalesce(?, fingerprint) "
                + "WHERE id = ?"
        )
        .bind(1, object.byteCount).bind(2, object.fingerprint).bind(3, known.id).run()
    }

    /// Adds to the bytes that the only version naming an object keeps alone.
    func shiftKeeper(of object: ObjectRow, by change: Int64) throws(StoreError) {
        guard object.references == 1, change != 0 else { return }
        try statement(
            "UPDATE version SET unique_bytes = unique_bytes + ? "
                + "WHERE id = (SELECT keepers FROM object WHERE id = ?)"
        )
        .bind(1, change).bind(2, object.id).run()
    }

    func setFingerprint(_ fingerprint: Fingerprint, of address: ObjectID) throws(StoreError) {
        try statement("UPDATE object SET fingerprint = ? WHERE address = ?")
            .bind(1, fingerprint).bind(2, address).run()
    }

    /// Drops the fingerprint of an object that no version names, so that a collection reads it first.
    func distrustGarbage(_ address: ObjectID) throws(StoreError) {
        try statement("UPDATE object SET fingerprint = NULL WHERE address = ? AND refs = 0")
            .bind(1, address).run()
    }

    /// Up to `limit` objects that no version names, with ids above `after`.
    func garbage(after: Int64, limit: Int) throws(StoreError) -> [ObjectRow] {
        // The partial index `garbage` answers this: its cost is what it returns.
        let rows = try statement(
            "SELECT \(Self.objectColumns) FROM object WHERE refs = 0 AND id > ? "
                + "ORDER BY id LIMIT ?")
        return try unnamed(rows.bind(1, after).bind(2, Int64(limit)))
    }

    /// The objects whose deletion is announced and that nothing has named since then.
    func markedForDeletion(after: Int64, through last: Int64) throws(StoreError) -> [ObjectRow] {
        let rows = try statement(
            "SELECT \(Self.objectColumns) FROM object "
                + "WHERE refs = 0 AND state <> 1 AND id > ? AND id <= ? ORDER BY id")
        return try unnamed(rows.bind(1, after).bind(2, last))
    }

    private func unnamed(_ rows: Statement) throws(StoreError) -> [ObjectRow] {
        var result: [ObjectRow] = []
        while try rows.step() {
            if let row = objectRow(rows) { result.append(row) }
        }
        return result
    }

    /// Announces the deletion of objects: writers that need one must revive it or write it again.
    func markForDeletion(_ ids: [Int64]) throws(StoreError) {
        let update = try statement(
            "UPDATE object SET state = 2 WHERE id = ? AND refs = 0 AND state = 1")
        for id in ids { try update.bind(1, id).run() }
    }

    func forget(_ ids: [Int64]) throws(StoreError) {
        guard let largest = ids.max() else { return }
        try statement(
            "INSERT INTO meta VALUES ('last_object', ?1) "
                + "ON CONFLICT (key) DO UPDATE SET value = max(value, ?1)"
        ).bind(1, largest).run()
        let delete = try statement("DELETE FROM object WHERE id = ? AND refs = 0")
        for id in ids { try delete.bind(1, id).run() }
    }

    /// The id of the next new object; none is used twice, so nothing recorded about one object applies to another.
    func nextObjectID() throws(StoreError) -> Int64 {
        try statement(
            "SELECT max(coalesce((SELECT max(id) FROM object), 0), "
                + "coalesce((SELECT value FROM meta WHERE key = 'last_object'), 0)) + 1"
        ).firstInteger() ?? 1
    }
}

struct ObjectCursor {
    struct Found {
        var id: Int64
        var state: ObjectState
        var byteCount: Int64
        var references: Int64
    }

    private var rows: OrderedCursor<ObjectID>

    init(_ index: IndexTransaction) throws(StoreError) {
        let rows = try index.statement(
            "SELECT address, id, state, bytes, refs FROM object WHERE address >= ? "
                + "ORDER BY address")
        self.rows = OrderedCursor(rows, bind: { $0.bind(1, $1) }) { (row) throws(StoreError) in
            try row.requiredAddress(0)
        }
    }

    /// The object at an address; the addresses of successive calls must not descend.
    mutating func find(_ address: ObjectID) throws(StoreError) -> Found? {
        guard let row = try rows.find(address) else { return nil }
        guard let state = ObjectState(rawValue: row.integer(2)) else {
            throw StoreError(.index, "the index holds a damaged state")
        }
        return Found(
            id: row.integer(1), state: state, byteCount: row.integer(3), references: row.integer(4))
    }

    func end() { rows.end() }
}
