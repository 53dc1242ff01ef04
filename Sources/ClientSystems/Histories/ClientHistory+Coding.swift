package import CASStore
package import HotPush
import StrictJSON

// History ↔ bytes: JSON without white space, keys sorted (RFC 8785), one line.

extension ClientHistory {
    private static let formatVersion: Int64 = 1
    /// The largest file that is read, in bytes.
    package static let byteCountMax = 32 << 20

    /// The bytes of the file.
    package func serialized() -> [UInt8] {
        var members: [JSONValue.Member] = [
            .init(key: "castreeHistory", value: .integer(Self.formatVersion)),
            .init(key: "system", value: .string(system.rawValue)),
            .init(key: "channel", value: .string(channel.description)),
            .init(key: "labelCount", value: .integer(labelCount)),
            .init(key: "offers", value: .array(offers.map { .object($0.members) })),
        ]
        if let log { members.append(.init(key: "log", value: .integer(log))) }
        return JSONWriter.serialize(.object(members), sortedKeys: true) + [10]
    }

    /// Reads what a channel has offered to the clients of a system.
    ///
    /// - Throws: `.badClients` with what is wrong, and what to do: ids that clients keep are lost with it;
    ///   `.unsupportedFormat` if it is newer than this castree.
    package init(
        parsing bytes: [UInt8], of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) {
        do throws(PointerProblem) {
            self = try Self.parse(bytes, channel, system)
        } catch {
            throw ClientConfiguration.refusal(
                error, OriginLayout.clientHistory(of: channel, system.rawValue),
                "put it back from a copy of the origin, or delete it: then castree origin enable makes it anew from what "
                    + "the channel offers now, and clients are told nothing of what it offered before",
                Self.formatVersion)
        }
    }

    private static func parse(
        _ bytes: [UInt8], _ channel: ChannelName, _ system: ClientSystem
    ) throws(PointerProblem) -> ClientHistory {
        let document = try JSONValue.read(bytes, byteCountMax: byteCountMax, depth: 8)
        guard let members = document.asObject else { throw .broken("it is no object") }
        var fields = FieldReader(members, place: "it")
        let format = try fields.integer("castreeHistory", 1...ChannelPointer.sequenceMax)
        guard format <= formatVersion else { throw .newer(format) }
        guard try fields.text("system") == system.rawValue,
            try fields.text("channel") == channel.description
        else { throw .broken("it is that of another channel or system") }
        var history = ClientHistory(system, channel)
        history.labelCount = try fields.integer("labelCount", 0...ChannelPointer.sequenceMax)
        if fields.has("log") { history.log = try fields.integer("log", 1...ChannelPointer.logMax) }
        var labels: [String: ClientOffer.Target] = [:]
        for (position, value) in try fields.array("offers").enumerated() {
            let offer = try ClientOffer(value, place: "offer \(position + 1)")
            if let last = history.offers.last, last.createdAt >= offer.createdAt {
                throw .broken("offer \(position + 1) is not later than the one before it")
            }
            if let label = offer.label {
                // The same content again keeps its label.
                let known = labels.updateValue(offer.target, forKey: label)
                guard offer.labelNumber <= history.labelCount,
                    known.map(offer.isSameContent) ?? true
                else {
                    throw .broken(
                        "the label of offer \(position + 1) is another's, or not given yet")
                }
            }
            history.offers.append(offer)
        }
        guard history.serialized() == bytes else {
            throw .broken("it is not as castree writes it")
        }
        return history
    }
}
