public import CASStore
import StrictJSON

/// The name of a channel, which operators type and which names the file of its pointer.
///
/// It has 1 to 64 of the characters `a–z 0–9 . _ -`, the first a letter or a digit. There are no capitals, because
/// some web servers distinguish names by case and some file systems do not.
public struct ChannelName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static let byteCountMax = 64
    /// The default channel, `stable`.
    public static let stable = ChannelName(unchecked: "stable")

    /// The name as text.
    public let description: String

    /// Checks and wraps a name.
    /// - Throws: `.badChannelName` with the rule that `text` breaks.
    public init(_ text: String) throws(StoreError) {
        if let problem = Self.problem(Array(text.utf8)) {
            throw StoreError(
                .badChannelName,
                "\"\(printable(text))\" cannot be the name of a channel: \(problem)")
        }
        description = text
    }

    private init(unchecked text: String) { description = text }

    private static func problem(_ bytes: [UInt8]) -> String? {
        if bytes.count > byteCountMax { return "it is longer than \(byteCountMax) bytes" }
        guard let first = bytes.first else { return "it is empty" }
        guard isAlphanumeric(first) else {
            return "it must begin with a lower-case letter or a digit"
        }
        for byte in bytes where !isAlphanumeric(byte) && !Array("._-".utf8).contains(byte) {
            return "only lower-case letters, digits and . _ - are allowed"
        }
        return nil
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (97...122).contains(byte)
    }

    /// Orders names by their bytes.
    public static func < (left: ChannelName, right: ChannelName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

/// The file `channels.json`, for clients that cannot list the channels' directory.
///
/// It is `{"channels":["beta","stable"]}`, sorted, and written after the pointers. If a publisher is killed, it is
/// outdated until the next publisher corrects it.
package enum ChannelList {
    package static let byteCountMax: Int64 = 1 << 20
    package static let countMax = 1_000

    package static func serialized(_ channels: [ChannelName]) -> [UInt8] {
        let names = channels.sorted().map { JSONValue.string($0.description) }
        return JSONValue.members(["channels": .array(names)]).fileBytes
    }

    /// Reads the names.
    /// - Throws: `.badOrigin`; `.badChannelName`; `.tooLarge`.
    package static func names(parsing bytes: [UInt8]) throws(StoreError) -> [ChannelName] {
        // Text that is not JSON lists no channels either; the message is the same.
        guard let document = try? JSONValue.parse(bytes),
            case .array(let values)? = document["channels"]
        else {
            throw StoreError(
                .badOrigin,
                "the origin's \(OriginLayout.channelList) lists no channels; publish again")
        }
        guard values.count <= countMax else {
            throw StoreError(
                .tooLarge,
                "the origin's \(OriginLayout.channelList) lists \(values.count) channels, more than "
                    + "\(countMax)")
        }
        var names: [ChannelName] = []
        for case .string(let name) in values { names.append(try ChannelName(name)) }
        return names
    }
}
