/// Finds many rows by ascending key, in one pass of one transaction.
///
/// A separate look-up costs about three times as much as the next row, so the cursor steps to near keys and seeks
/// only distant ones. Rows written meanwhile may or may not be seen: look first and write afterwards.
struct OrderedCursor<Key: Comparable> {
    /// The statement returns the rows from a key on, in the order of keys.
    private let rows: Statement
    private let bind: (Statement, Key) -> Void
    private let read: (Statement) throws(StoreError) -> Key
    /// The key of the statement's current row; `nil` after the last.
    private var here: Key?
    private var hasBegun = false

    private static var stepsMax: Int { 4 }

    init(
        _ rows: Statement, bind: @escaping (Statement, Key) -> Void,
        read: @escaping (Statement) throws(StoreError) -> Key
    ) {
        self.rows = rows
        self.bind = bind
        self.read = read
    }

    /// Moves to the row with a key that is not smaller than the previous one; `nil` if there is none.
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

    func end() { rows.reset() }
}
