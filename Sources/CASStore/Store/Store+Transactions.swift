import Platform

// One transaction of the index. Whoever needs more than one, or what is around them, takes ``Store/index(_:)``.

extension Store {
    /// Reads the index in one transaction: all queries see one state.
    ///
    /// Not from within another one: the index is one thread's at a time.
    func reading<R>(
        _ body: (Index, Connection) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in try body(index, connection) }
        }
    }

    /// Changes the index in one transaction, beside which nobody else writes.
    /// - Parameter rows: how many rows will change, about.
    func writing<R>(
        rows: Int? = nil, _ body: (Index, Connection) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in
            try index.write(rows: rows) { (connection) throws(StoreError) in
                try body(index, connection)
            }
        }
    }
}
