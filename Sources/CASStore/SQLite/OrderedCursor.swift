/// Finds many rows by ascending key, in one pass.
///
/// A look-up of its own costs some three times as much as the next row, so neighbours are reached by
/// stepping and only what lies far off is sought anew. For use inside one transaction; what is
/// written meanwhile may or may not be seen, so look first and write afterwards.
struct OrderedCursor<Key: Comparable> {
    /// The statement's rows are those from a key on, in its order.
    private let rows: Statement
    private let bind: (Statement, Key) -> Void
    private let read: (Statement) throws(StoreError) -> Key
    /// The key of the row that the statement stands at; `nil` behind the last.
    private var here: Key?
    private var hasBegun = false

    /// How many rows are stepped over before the key is sought.
    private static var stepsMax: Int { 4 }

    init(
        _ rows: Statement, bind: @escaping (Statement, Key) -> Void,
        read: @escaping (Statement) throws(StoreError) -> Key
    ) {
        self.rows = rows
        self.bind = bind
        self.read = read
    }

    /// Moves to the row with a key that is not smaller than the one before.
    ///
    /// - Returns: the row, to read its columns; `nil` if there is none.
    mutating func find(_ wanted: Key) throws(StoreError) -> Statement? {
        var steps = 0
        while true {
            if hasBegun {
                guard let here else { return nil }
                if here == wanted { return rows }
                if here > wanted { return nil }
            }
            if !hasBegun || steps == Self.stepsMax {
                rows.reset()
                bind(rows, wanted)
                hasBegun = true
            }
            steps += 1
            here = try rows.step() ? try read(rows) : nil
        }
    }

    /// Lets go of the rows.
    func end() { rows.reset() }
}
