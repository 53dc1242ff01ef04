package import CASStore
import StrictJSON

/// The names of an origin's channels, for clients that cannot list its directory.
///
/// `channels.json`: `{"channels":["beta","stable"]}`, sorted, written after the pointers. It may lag
/// behind them if a publisher is killed; the next publisher corrects it.
package enum ChannelList {
    /// The largest list that is read, in bytes.
    package static let byteCountMax: Int64 = 1 << 20
    /// The most channels that an origin has.
    static let countMax = 1_000

    static func serialized(_ channels: [ChannelName]) -> [UInt8] {
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
