import CASStore
import HotPush
import StrictJSON

// History ↔ bytes.

extension ClientHistory {
    /// The largest file that is read, in bytes.
    static let byteCountMax = 32 << 20

    /// The bytes of the file.
    func serialized() -> [UInt8] {
        JSONValue.members([
            "castreeHistory": .integer(FieldReader.clientFormat), "system": .text(system.rawValue),
            "channel": .text(channel), "labelCount": .integer(labelCount),
            "offers": .array(offers.map(\.document)), "log": log.map { .integer($0) },
        ]).fileBytes
    }

    /// Reads what a channel has offered to the clients of a system.
    ///
    /// - Throws: `.badClients` with what is wrong, and what to do: ids that clients keep are lost with it;
    ///   `.unsupportedFormat` if it is newer than this castree.
    init(
        parsing bytes: [UInt8], of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) {
        do throws(PointerProblem) {
            self = try Self.parse(bytes, channel, system)
        } catch {
            throw error.refusal(
                of: OriginLayout.clientHistory(of: channel, system.rawValue),
                "put it back from a copy of the origin, or delete it: then castree origin enable makes it anew from what "
                    + "the channel offers now, and clients are told nothing of what it offered before"
            )
        }
    }

    private static func parse(
        _ bytes: [UInt8], _ channel: ChannelName, _ system: ClientSystem
    ) throws(PointerProblem) -> ClientHistory {
        var fields = try FieldReader(
            file: bytes, byteCountMax: byteCountMax, depth: 8, format: "castreeHistory")
        guard try fields.text("system") == system.rawValue,
            try fields.text("channel") == channel.description
        else { throw .broken("it is that of another channel or system") }
        var history = ClientHistory(system, channel)
        history.labelCount = try fields.integer("labelCount", 0...ChannelPointer.sequenceMax)
        history.log = try fields.log()
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
