/// Finds many objects in the index by ascending address.
struct ObjectCursor {
    /// The state of an object.
    struct Found {
        var id: Int64
        var state: ObjectState
        var byteCount: Int64
    }

    private var rows: OrderedCursor<ObjectID>

    init(_ index: IndexTransaction) throws(StoreError) {
        let rows = try index.statement(
            "SELECT address, id, state, bytes FROM object WHERE address >= ? ORDER BY address")
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
        return Found(id: row.integer(1), state: state, byteCount: row.integer(3))
    }

    /// Releases the rows.
    func end() { rows.end() }
}
