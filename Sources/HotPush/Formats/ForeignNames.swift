package import CASStore
import StrictJSON
package import VersionTree

extension VersionName {
    static let foreignByteCountMax = 1024

    /// Makes a name from what a publisher calls a version.
    ///
    /// A valid name stays as it is. Any other text becomes `v~` and its bytes, with everything but letters, digits,
    /// `.`, `_` and `-` as `~` and two hexadecimal digits; if that is too long, its first 60 characters, `~~` and the
    /// SHA-256 of the text. Different texts get different names; a text that begins with `v~` is spelled this way too.
    /// - Throws: `.badName` for a text that is a path: absolute, with `..`, NUL or a backslash; for an empty text; for
    ///   more than 1,024 bytes.
    package static func foreign(_ text: String) throws(StoreError) -> VersionName {
        let bytes = Array(text.utf8)
        if let problem = foreignProblem(bytes) {
            throw StoreError(
                .badName, "\(quoted(text)) cannot be the name of a version: \(problem)")
        }
        // A text that the rules of names refuse is spelled out below.
        if !bytes.starts(with: "v~".utf8), let name = try? VersionName(text) { return name }
        var spelled: [UInt8] = []
        for byte in bytes {
            if isPlain(byte) {
                spelled.append(byte)
            } else {
                spelled += [126, Hex.digit(byte >> 4), Hex.digit(byte & 15)]
            }
        }
        if spelled.count + 2 > byteCountMax {
            let digest = Hex.string(try Digester.digest(.sha256, of: bytes))
            spelled = Array(spelled.prefix(60)) + Array("~~\(digest)".utf8)
        }
        return try VersionName("v~" + String(decoding: spelled, as: UTF8.self))
    }

    /// Throws `.badRelease` with `refusal` as the beginning of the message.
    static func foreign(_ text: String, refusal: String) throws(StoreError) -> VersionName {
        do throws(StoreError) {
            return try foreign(text)
        } catch {
            throw StoreError(.badRelease, "\(refusal): \(error.message)")
        }
    }

    private static func foreignProblem(_ bytes: [UInt8]) -> String? {
        if bytes.isEmpty { return "it is empty" }
        if bytes.count > foreignByteCountMax {
            return "it has \(bytes.count) bytes, more than \(foreignByteCountMax)"
        }
        if bytes[0] == 47 { return "it is absolute" }
        if bytes.contains(0) { return "it contains NUL" }
        if bytes.contains(92) { return "it contains a backslash" }
        if bytes.split(separator: 47).contains([46, 46]) { return "it contains \"..\"" }
        return nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, 45, 46, 95: true
        default: false
        }
    }
}

extension TreePath {
    /// Makes a path from a foreign document; the error does not repeat a text that is far too long.
    static func foreign(_ text: String) throws(StoreError) -> TreePath {
        guard text.utf8.count <= byteCountMax else {
            throw StoreError(
                .badPath,
                "\(quoted(text)) cannot be a path: it has \(text.utf8.count) bytes, more than "
                    + "\(byteCountMax)")
        }
        return try TreePath(text)
    }
}

/// A foreign text in quotes, printable, and cut if it is long.
func quoted(_ text: String) -> String { "\"\(printable(text, 200))\"" }

extension Release {
    /// The key of ``foreign`` for the publisher's version name if the store cannot use it.
    package static let publisherVersionKey = "publisherVersion"

    package var publisherVersion: String {
        let kept = foreign.first { $0.key.utf8.elementsEqual(Self.publisherVersionKey.utf8) }
        return kept?.value.asString ?? version.description
    }

    /// Keeps the publisher's version name if it differs from the version's name.
    mutating func keep(publisherVersion text: String) {
        guard !text.utf8.elementsEqual(version.description.utf8) else { return }
        foreign.append(.init(key: Self.publisherVersionKey, value: .string(text)))
    }
}

/// The fields of a document that the neutral model has no place for, unless they are large: a tree can take twenty
/// times the memory of its text, and the received document has all fields.
struct ForeignFields {
    private(set) var members: [JSONValue.Member] = []
    private var left = 256 * 1024

    mutating func keep(_ key: String, _ value: JSONValue, byteCount: Int) {
        guard spend(byteCount) else { return }
        members.append(.init(key: key, value: value))
    }

    mutating func keep(_ key: String, text: ArraySlice<UInt8>) throws(JSONError) {
        guard spend(key.utf8.count + text.count) else { return }
        members.append(.init(key: key, value: try JSONValue.parse(Array(text))))
    }

    private mutating func spend(_ byteCount: Int) -> Bool {
        if byteCount > left { return false }
        left -= byteCount
        return true
    }
}

/// A text as a key: compared and hashed by its bytes, not by Unicode's canonical equivalence.
struct ByteText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: ByteText, right: ByteText) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
