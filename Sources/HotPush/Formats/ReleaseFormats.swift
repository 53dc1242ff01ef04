import StrictJSON

/// The formats that castree reads.
package enum ReleaseFormats {
    /// All of them; what is known by a key of its own comes first.
    package static let all: [any ReleaseFormat] = [
        CastreeFormat(), MeteorFormat(), EightFitFormat(),
    ]

    /// The names for `--format`, besides `auto`.
    package static var names: [String] { all.map(\.name) }

    /// The format with a name, as `--format` takes it; nil for an unknown one.
    package static func named(_ name: String) -> (any ReleaseFormat)? {
        all.first { $0.name == name }
    }

    /// The format that a version was read from; nil for an unknown one.
    package static func family(_ family: String) -> (any ReleaseFormat)? {
        all.first { $0.family == family }
    }

    /// The format of a document, by its content; nil if it looks like none.
    ///
    /// - Parameter bytes: the document, or enough of its beginning.
    package static func recognize(_ bytes: [UInt8]) -> (any ReleaseFormat)? {
        all.first { $0.recognizes(bytes) }
    }
}

/// Looks at the keys of a JSON object, as far as the text goes, until `isEnough` says so.
///
/// - Parameter isEnough: gets each key, the type of its value, and the value if it is a string.
/// - Returns: whether it said so.
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
        // The text ends or is no JSON: what was seen until here decides.
    }
    return false
}
