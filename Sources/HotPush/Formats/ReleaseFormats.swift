import StrictJSON

/// The formats that castree reads.
package enum ReleaseFormats {
    /// First those that a key of their own identifies.
    package static let all: [any ReleaseFormat] = [
        CastreeFormat(), MeteorFormat(), EightFitFormat(),
    ]

    package static var names: [String] { all.map(\.name) }

    /// Nil for an unknown format.
    package static func named(_ name: String) -> (any ReleaseFormat)? {
        all.first { $0.name == name }
    }
}

/// Scans the keys of a JSON object, which may be cut off, until `isEnough` returns true; returns whether it did.
/// - Parameter isEnough: receives each key, the type of its value, and the value if it is a string.
func scanMembers(
    of bytes: [UInt8], _ isEnough: (String, JSONReader.Kind, String?) -> Bool
) -> Bool {
    do throws(JSONError) {
        var reader = try JSONReader(bytes)
        try reader.enterObject()
        while let key = try reader.nextKey() {
            let kind = try reader.peekKind()
            let text = kind == .string ? try reader.readString() : nil
            if isEnough(key, kind, text) { return true }
            if kind != .string { try reader.skipValue() }
        }
    } catch {
        // The text ends or is not JSON: what was seen so far decides.
    }
    return false
}
