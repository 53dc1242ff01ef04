import CASStore
import HotPush
import StrictJSON

// What the files below `for/` have in common: one line of JSON without white space, keys sorted (RFC 8785), which
// begins with its format.

extension FieldReader {
    static let clientFormat: Int64 = 1

    /// Checks the format before anything else.
    init(
        file bytes: [UInt8], byteCountMax: Int, depth: Int, format key: String
    ) throws(PointerProblem) {
        try self.init(
            JSONValue.read(bytes, byteCountMax: byteCountMax, depth: depth), format: key)
    }

    init(_ document: JSONValue, format key: String) throws(PointerProblem) {
        try self.init(document, format: key, upTo: Self.clientFormat)
    }

    mutating func optionalText(_ key: String) throws(PointerProblem) -> String? {
        has(key) ? try text(key) : nil
    }

    /// The entry of the origin's log that states the file; `nil` where there is no log.
    mutating func log() throws(PointerProblem) -> Int64? {
        has("log") ? try integer("log", 1...ChannelPointer.logMax) : nil
    }

    /// Refuses fields that were not taken.
    func end(_ beginning: String) throws(PointerProblem) {
        guard let unknown = rest.first else { return }
        throw .broken("\(beginning) an unknown field \"\(printable(unknown.key))\"")
    }
}

extension PointerProblem {
    func refusal(of place: String, _ remedy: String = "") -> StoreError {
        let error = storeError(place, .badClients, formatVersion: FieldReader.clientFormat)
        return StoreError(error.code, error.message + remedy)
    }
}
