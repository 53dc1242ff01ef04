import StrictJSON
import VersionTree

struct MeteorEntry {
    var path: String?
    var url: String?
    var place: String?
    var type: String?
    var hash: String?
    var sri: String?
    var sourceMap: String?
    var sourceMapURL: String?
    var isCacheable: Bool?
    var isReplaceable: Bool?
    var byteCount: Int64?
    /// Other fields whose values are neither lists nor objects.
    var foreign: [JSONValue.Member] = []

    /// Whether the Cordova program uses it; `internal` entries are pieces of the index page.
    var isForClient: Bool { place == "client" }

    /// Requires the types of all fields, whatever the entry is for.
    init(_ reader: inout JSONReader, _ meter: inout ReadingMeter) throws(JSONError) {
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "path": path = try Self.text(&reader)
            case "url": url = try Self.text(&reader)
            case "where": place = try Self.text(&reader)
            case "type": type = try Self.text(&reader)
            case "hash": hash = try Self.text(&reader)
            case "sri": sri = try Self.text(&reader)
            case "sourceMap": sourceMap = try Self.text(&reader)
            case "sourceMapUrl": sourceMapURL = try Self.text(&reader)
            case "cacheable": isCacheable = try Self.truth(&reader)
            case "replaceable": isReplaceable = try Self.truth(&reader)
            case "size":
                if try Self.isNull(&reader) { continue }
                let offset = reader.offset
                let count = try reader.readInteger()
                if count < 0 { throw reader.failure("a size is negative", at: offset) }
                byteCount = count
            default:
                switch try reader.peekKind() {
                case .object, .array: try reader.skipValue()
                default: foreign.append(.init(key: key, value: try meter.readValue(&reader)))
                }
            }
        }
    }

    // Null counts as missing.

    private static func text(_ reader: inout JSONReader) throws(JSONError) -> String? {
        try isNull(&reader) ? nil : try reader.readString()
    }

    private static func truth(_ reader: inout JSONReader) throws(JSONError) -> Bool? {
        try isNull(&reader) ? nil : try reader.readBool()
    }

    private static func isNull(_ reader: inout JSONReader) throws(JSONError) -> Bool {
        guard try reader.peekKind() == .null else { return false }
        try reader.readNull()
        return true
    }
}
