import CSQLite

/// One prepared statement, whose parameters count from 1 and columns from 0.
package final class Statement {
    private let handle: OpaquePointer
    private unowned let connection: Connection

    init(_ handle: OpaquePointer, of connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    @discardableResult
    package func bind(_ position: Int32, _ value: Int64) -> Statement {
        sqlite3_bind_int64(handle, position, value)
        return self
    }

    @discardableResult
    package func bind(_ position: Int32, _ value: String) -> Statement {
        sqlite3_bind_text(handle, position, value, -1, castree_sqlite_transient())
        return self
    }

    @discardableResult
    package func bind(_ position: Int32, _ bytes: UnsafeRawBufferPointer) -> Statement {
        // An empty array has no address; SQLite would bind NULL for it.
        if let start = bytes.baseAddress, !bytes.isEmpty {
            sqlite3_bind_blob64(
                handle, position, start, UInt64(bytes.count), castree_sqlite_transient())
        } else {
            sqlite3_bind_zeroblob(handle, position, 0)
        }
        return self
    }

    @discardableResult
    package func bind(_ position: Int32, _ address: ObjectID) -> Statement {
        address.withBytes { bind(position, $0) }
    }

    @discardableResult
    package func bind(_ position: Int32, _ fingerprint: Fingerprint?) -> Statement {
        if let fingerprint {
            fingerprint.withBytes { _ = bind(position, $0) }
        } else {
            sqlite3_bind_null(handle, position)
        }
        return self
    }

    @discardableResult
    package func bind(_ position: Int32, _ bytes: [UInt8]) -> Statement {
        bytes.withUnsafeBytes { bind(position, $0) }
    }

    /// Moves to the next row; `false` after the last.
    package func step() throws(StoreError) -> Bool {
        switch try connection.acting({ () throws(StoreError) in sqlite3_step(handle) }) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            let error = connection.error(code)
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs a statement that returns no rows, ready to run again.
    package func run() throws(StoreError) {
        while try step() {}
    }

    package func first<R>(
        _ read: (Statement) throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        defer { reset() }
        return try step() ? try read(self) : nil
    }

    package func firstInteger() throws(StoreError) -> Int64? { try first { $0.integer(0) } }

    /// Ends a half-read result; bound values stay.
    package func reset() { sqlite3_reset(handle) }

    func finalize() { sqlite3_finalize(handle) }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    package func text(_ column: Int32) -> String? {
        sqlite3_column_text(handle, column).map { String(cString: $0) }
    }

    /// Calls `body` with the bytes of a column, valid only during the call.
    package func withBlob<R>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    /// A column that holds an address; `nil` for NULL or another length.
    package func address(_ column: Int32) -> ObjectID? {
        withBlob(column) { $0.count == 32 ? ObjectID(unchecked: $0) : nil }
    }

    /// - Throws: `.index` if the column holds no address.
    func requiredAddress(_ column: Int32) throws(StoreError) -> ObjectID {
        guard let address = address(column) else {
            throw StoreError(.index, "the index holds a damaged address")
        }
        return address
    }

    package func fingerprint(_ column: Int32) -> Fingerprint? {
        withBlob(column) { Fingerprint(bytes: $0) }
    }
}

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
