import Platform

// One transaction of the index. Whoever needs more than one, or what is around them, takes ``Store/index(_:)``.

extension Store {
    /// Reads the index in one transaction: all queries see one state.
    ///
    /// Not from within another one: the index is one thread's at a time.
    func reading<R>(
        _ body: (IndexTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in try index.read(body) }
    }

    /// Changes the index in one transaction, beside which nobody else writes.
    /// - Parameters:
    ///   - rows: how many rows will change, about.
    ///   - syncing: makes the index durable, and what the transaction goes with.
    func writing<R>(
        rows: Int? = nil, _ body: (IndexTransaction) throws(StoreError) -> R,
        syncing: ((IndexTransaction) throws(StoreError) -> Void)? = nil
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in
            try index.write(rows: rows, body, syncing: syncing)
        }
    }
}
