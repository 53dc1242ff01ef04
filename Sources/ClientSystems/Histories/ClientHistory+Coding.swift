import CASStore
import HotPush
import Origin
import StrictJSON

// History ↔ bytes.

extension ClientHistory {
    static let byteCountMax = 32 << 20

    var file: HistoryFile {
        var file = HistoryFile(
            HistoryName(system: system.announced, channel: channel), labelCount: labelCount,
            offers: offers.map(\.document.withSortedKeys))
        file.log = log
        return file
    }

    func serialized() -> [UInt8] { file.serialized() }

    /// - Throws: `.badClients` with what is wrong; `.unsupportedFormat` if it is newer than this castree.
    init(
        parsing bytes: [UInt8], of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) {
        self = try Self.explaining(channel, system) { () throws(PointerProblem) in
            var fields = try FieldReader(
                file: bytes, byteCountMax: Self.byteCountMax, depth: 8, format: "castreeHistory")
            guard try fields.text("system") == system.rawValue,
                try fields.text("channel") == channel.description
            else { throw .broken("it is that of another channel or system") }
            var history = ClientHistory(
                system, channel,
                labelCount: try fields.integer("labelCount", 0...ChannelPointer.sequenceMax))
            history.log = try fields.log()
            try history.read(fields.array("offers"))
            guard history.serialized() == bytes else { throw .notOwn }
            return history
        }
    }

    /// Reads the same as an entry of the log states it.
    init(
        _ file: HistoryFile, of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) {
        self = try Self.explaining(channel, system) { () throws(PointerProblem) in
            var history = ClientHistory(system, channel, labelCount: file.labelCount)
            guard 0...ChannelPointer.sequenceMax ~= file.labelCount else { throw .notOwn }
            try history.read(file.offers)
            guard history.file.offers == file.offers.map(\.withSortedKeys) else { throw .notOwn }
            return history
        }
    }

    private static func explaining(
        _ channel: ChannelName, _ system: ClientSystem,
        _ read: () throws(PointerProblem) -> ClientHistory
    ) throws(StoreError) -> ClientHistory {
        do throws(PointerProblem) {
            return try read()
        } catch {
            throw error.refusal(of: OriginLayout.clientHistory(of: channel, system.rawValue))
        }
    }

    private mutating func read(_ values: [JSONValue]) throws(PointerProblem) {
        var labels: [String: ObjectID?] = [:]
        for (position, value) in values.enumerated() {
            let offer = try ClientOffer(value, place: "offer \(position + 1)")
            if let last = offers.last, last.createdAt >= offer.createdAt {
                throw .broken("offer \(position + 1) is not later than the one before it")
            }
            if let label = offer.label {
                // The same content may be offered again under its label.
                let known = labels.updateValue(offer.content, forKey: label)
                guard offer.labelNumber <= labelCount, known == nil || known == offer.content
                else {
                    throw .broken(
                        "the label of offer \(position + 1) is another's, or not given yet")
                }
            }
            offers.append(offer)
        }
    }
}

extension PointerProblem {
    fileprivate static var notOwn: Self { .broken("it is not as castree writes it") }
}
