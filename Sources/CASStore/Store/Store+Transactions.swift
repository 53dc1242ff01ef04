import Platform

// One transaction of the index. Code that needs more than one, or what is around them, takes
// ``Store/index(_:)``.

extension Store {
    /// Reads the index in one transaction: all queries see one state.
    ///
    /// Not inside another one: only one thread has the index at a time.
    func reading<R>(
        _ body: (IndexTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in try index.read(body) }
    }

    /// Changes the index in one transaction, during which nobody else writes.
    /// - Parameters:
    ///   - rows: how many rows will change, about.
    ///   - syncing: makes durable the index and what else belongs to the transaction.
    func writing<R>(
        rows: Int? = nil, _ body: (IndexTransaction) throws(StoreError) -> R,
        syncing: ((IndexTransaction) throws(StoreError) -> Void)? = nil
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in
            try index.write(rows: rows, body, syncing: syncing)
        }
    }
}
