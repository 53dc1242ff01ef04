/// Collects the body of a request in memory, up to a limit; for one thread at a time.
package final class BodyReader {
    @exclusivity(unchecked) package private(set) var content: [UInt8] = []
    private let limit: Int
    private let budget: BodyBudget?
    @exclusivity(unchecked) private var rest: BodyRest
    @exclusivity(unchecked) private var held = 0

    /// - Parameter budget: shared by the bodies of all connections.
    /// - Throws: 413 if the length in the head is over the limit.
    package init(
        _ framing: BodyFraming, limit: Int, budget: BodyBudget? = nil
    ) throws(MessageFailure) {
        self.limit = limit
        self.budget = budget
        rest = BodyRest(framing)
        if case .length(let count) = framing, count > Int64(limit) { throw Self.tooLarge(limit) }
    }

    package var isComplete: Bool { rest.isComplete }

    /// - Returns: how many of `bytes` belong to the body.
    /// - Throws: 400 for malformed chunks, 413 if the body grows over the limit.
    package func read(_ bytes: Span<UInt8>) throws(MessageFailure) -> Int {
        // One byte more than allowed, to notice that there is more.
        let space = limit - content.count + 1
        let used = try rest.read(bytes, decoded: &content, limit: space)
        let before = held
        held = rest.isChunked ? content.count : content.count + used
        if let budget, !budget.take(held - before) {
            held = before
            content = []
            throw MessageFailure(503, "the server holds too many bodies; send it again later")
        }
        if !rest.isChunked { content.append(bytes, 0..<used) }
        guard content.count <= limit else { throw Self.tooLarge(limit) }
        return used
    }

    deinit { budget?.giveBack(held) }

    private static func tooLarge(_ limit: Int) -> MessageFailure {
        MessageFailure(413, "the body is over \(limit) bytes")
    }
}
