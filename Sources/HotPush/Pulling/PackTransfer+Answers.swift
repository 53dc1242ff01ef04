import CASStore
import Zstandard

// What the transport delivers: heads, bytes, ends.

extension PackTransfer {
    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision {
        guard let transfer = running[id] else { return .refuse }
        transfer.head = head
        switch head.status {
        case 206:
            guard let value = head["content-range"], let range = ContentRange(value),
                let bytes = range.bytes, bytes.lowerBound == transfer.start,
                bytes.upperBound <= pack.byteCount, range.total ?? pack.byteCount == pack.byteCount
            else { return give(up: "the server sent another part of it than was asked for") }
            return .take
        case 200:
            let length = head["content-length"].flatMap(Int64.init) ?? pack.byteCount
            guard length == pack.byteCount else {
                return give(up: "the server has \(length) bytes of it instead of \(pack.byteCount)")
            }
            // The server sends the whole, so the kept part has saved nothing; accept only if little was here.
            figures.resumedBytes = 0
            guard transfer.start < pack.byteCount / 2 else {
                return give(up: "the server sends no parts of it")
            }
            transfer.skipped = transfer.start
            return .take
        default:
            if RetryPolicy.isWorthRetrying(status: head.status) { return .discard }
            return give(up: "the server answered \(head.status)", .discard)
        }
    }

    private func give(up reason: String, _ decision: BodyDecision = .refuse) -> BodyDecision {
        trouble = .badPack(reason)
        isUseless = true
        return decision
    }

    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let transfer = running[id], !isUseless else { return false }
        figures.bytes += Int64(bytes.count)
        transfer.pace = transfer.drip.pace(bytes.count, among: running.count)
        if transfer.pace == .dripping {
            transfer.isTooSlow = true
            return false
        }
        var bytes = bytes
        if transfer.skipped > 0 {
            let count = Int(min(transfer.skipped, Int64(bytes.count)))
            transfer.skipped -= Int64(count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
        }
        do throws(StoreError) {
            do throws(StoreError) { return try take(bytes, transfer) } catch { try giveUp(error) }
        } catch {
            failure = failure ?? error
        }
        return false
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ transfer: Running
    ) throws(StoreError) -> Bool {
        var bytes = bytes
        if !isOpen {
            let count = Int(
                min(pack.openingByteCount - transfer.position, Int64(bytes.count)))
            try openingPart?.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]).bytes)
            transfer.position += Int64(count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            noteProgress(count, transfer)
            guard transfer.position == pack.openingByteCount else { return true }
            guard try open() else {
                isUseless = true
                return false
            }
            guard let wish else {
                transfer.isDone = true
                return false
            }
            guard transfer.end == pack.byteCount || transfer.head?.status == 200 else {
                queueFrames()
                transfer.isDone = true
                return true
            }
            transfer.span.frames = 1..<wish.frames.count
        }
        if transfer.isDone { return true }
        return try takeFrames(bytes, transfer)
    }

    private func takeFrames(
        _ bytes: UnsafeRawBufferPointer, _ transfer: Running
    ) throws(StoreError) -> Bool {
        guard let opening, let wish else { return false }
        let table = opening.table
        var bytes = bytes
        while let index = transfer.span.frames.first {
            guard hasMore(transfer.span.frames) else { break }
            let frame = table.frames[index]
            let isWanted = wish.frames[index]
            if isWanted, transfer.arrival == nil {
                var arrival = try arrivals.begin(
                    opening.part(ofFrame: index), byteCount: frame.byteCount)
                if arrival.offset > 0 { try arrival.restart() }
                transfer.arrival = consume arrival
            }
            let count = Int(min(frame.end - transfer.position, Int64(bytes.count)))
            let piece = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            if isWanted, count > 0 { try transfer.arrival?.append(piece.bytes) }
            transfer.position += Int64(count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            noteProgress(count, transfer)
            guard transfer.position == frame.end else { return true }
            transfer.span.frames = index + 1..<transfer.span.frames.upperBound
            if let arrival = transfer.arrival.take() { try finish(index, arrival) }
        }
        transfer.isDone = true
        // A server that sends the whole pack continues beyond the range; end the transfer.
        return bytes.isEmpty && transfer.position == transfer.end
    }

    private func noteProgress(_ count: Int, _ transfer: Running) {
        transfer.newByteCount += Int64(count)
        if count > 0, transfer.pace == .kept { budget.progressed(transfer.span.budgetID) }
    }

    private func hasMore(_ frames: Range<Int>) -> Bool {
        frames.contains { wish?.frames[$0] == true }
    }

    /// Throws only what ends the whole transfer; a wrong frame is noted.
    func finish(_ index: Int, _ arrival: consuming Arrival) throws(StoreError) {
        guard let unpacker = wish?.unpacker else { return try arrival.discard() }
        var wrong: [Reference] = []
        var problem: StoreError?
        do throws(StoreError) {
            wrong = try arrival.withBytes { (bytes) throws(StoreError) in
                try unpacker.unpack(bytes, frame: index)
            }
        } catch {
            guard [.badPack, .badFrame, .mismatch].contains(error.code) else { throw error }
            problem = error
            wrong = unpacker.objects(of: index)
        }
        try arrival.discard()
        guard problem != nil || !wrong.isEmpty else { return }
        if resumedFrames.remove(index) != nil {
            // A power cut may have torn the part that an earlier pull left.
            queue.append(Span(frames: index..<index + 1, budgetID: -index))
            return
        }
        // Frames share bases.
        for base in try unpacker.damagedBases(of: index) where !damagedBases.contains(base) {
            damagedBases.append(base)
        }
        if !damagedBases.isEmpty {
            trouble = .damagedBases(damagedBases)
        } else {
            trouble =
                problem
                ?? .badPack("\(counted(wrong.count, "object")) came out of it with other bytes")
        }
    }

    // MARK: Ends

    func end(_ id: Int, _ outcome: TransferOutcome) {
        guard let transfer = running.removeValue(forKey: id) else { return }
        do throws(StoreError) {
            try end(transfer, outcome)
        } catch {
            failure = failure ?? error
        }
    }

    private func end(_ transfer: Running, _ outcome: TransferOutcome) throws(StoreError) {
        if let arrival = transfer.arrival.take() {
            if let frame = transfer.span.frames.first { ownFrames.insert(frame) }
            if isDropped { try arrival.discard() } else { try arrival.suspend() }
        }
        if transfer.isDone || isUseless { return }
        var span = transfer.span
        guard failure == nil, outcome != .cancelled else { return queue.append(span) }
        var ended = outcome
        if transfer.isTooSlow {
            ended = .failed(TransferFailure(.timeout, "the pack comes too slowly to finish"))
        }
        if ended == .finished, transfer.head.map({ $0.status < 300 }) == true {
            ended = .failed(TransferFailure(.broken, "only a part of the pack came"))
        }
        let decision = budget.decide(
            span.budgetID, ended, head: transfer.head, newByteCount: transfer.newByteCount,
            lasting: transfer.drip.lasted, among: running.count + 1, now: secondsNow(),
            using: &generator)
        guard case .again(let delay) = decision, !isTrickling else {
            isUseless = true
            if case .failed(let why) = ended { trouble = .badPack(why.message, .network) }
            trouble = trouble ?? .badPack("the server does not send it", .network)
            return
        }
        span.due = .now + delay
        queue.append(span)
    }
}
