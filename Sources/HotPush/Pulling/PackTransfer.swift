import CASStore
import VersionTree
import Zstandard

/// Fetches a pack, or parts of it, and unpacks it as it arrives.
///
/// The first bytes are the opening (table and manifest), after which the caller says what it wants of the rest. Parts
/// are kept in `staging/`: the opening under the pack's address, a cut-off frame as ``PackOpening/part(ofFrame:)``. A
/// useless pack loses nothing: ``problem`` says why, and the rest comes another way.
final class PackTransfer: TransferRun<PackTransfer.Span, PackTransfer.Attempt> {
    /// Frames that one request asks for; empty for the opening alone.
    struct Span: TransferJob {
        var frames: Range<Int>
        var due: ContinuousClock.Instant?
        let budgetID: Int
    }

    final class Attempt: Transfer<Span> {
        let start: Int64
        let end: Int64
        var position: Int64
        /// How many bytes to skip because the server sends the whole pack.
        var skipped: Int64 = 0
        var item: IncomingContent?
        var isDone = false

        init(_ span: Span, from start: Int64, to end: Int64, _ item: consuming IncomingContent?) {
            self.start = start
            self.end = end
            position = start
            self.item = item
            super.init(span)
        }

        func advance(by count: Int) {
            position += Int64(count)
            newByteCount += Int64(count)
        }
    }

    let pack: Delivery.Pack
    private let version: PublishedVersion
    private let base: Manifest?
    /// Whether the first request asks for the whole pack, before its table is known; else only for the opening.
    private let asksForWhole: Bool
    private let incoming: IncomingContents
    private let url: String
    private let limits: Manifest.Limits
    private let ticked: () -> Void
    private let opened: (PackOpening) throws(StoreError) -> PackWish?

    private var opening: PackOpening?
    private var openingPart: IncomingContent?
    private var wish: PackWish?
    private var lastBudgetID = 0

    private(set) var problem: StoreError?
    private(set) var isUseless = false { didSet { waiting = [] } }
    /// Whether its parts are useless to a later pull too.
    private var isDropped = false
    private var lastOpening: PackOpening?
    private var plannedCount = 1
    private var isResumed = false
    /// Frames whose first bytes came from an earlier pull: a wrong one is requested once more.
    private var resumedFrames: Set<Int> = []
    private var ownFrames: Set<Int> = []
    private(set) var damagedBases: [ObjectID] = []

    /// - Parameters:
    ///   - budget: shared by all packs of a pull: they are optional, and must not delay the objects.
    ///   - ticked: called now and then, for progress.
    ///   - opened: called once with the opening; returns `nil` if nothing more is wanted. An error ends the pull.
    init(
        _ pack: Delivery.Pack, at url: String, to version: PublishedVersion, from base: Manifest?,
        asksForWhole: Bool, into incoming: IncomingContents, limits: Manifest.Limits,
        budget: RetryBudget, isInterrupted: @escaping () -> Bool,
        ticked: @escaping () -> Void = {},
        opened: @escaping (PackOpening) throws(StoreError) -> PackWish?
    ) {
        self.pack = pack
        self.url = url
        self.version = version
        self.base = base
        self.asksForWhole = asksForWhole
        self.incoming = incoming
        self.limits = limits
        self.ticked = ticked
        self.opened = opened
        super.init(budget, isInterrupted: isInterrupted)
    }

    /// ``problem`` or ``failure`` tell what could not be fetched.
    override func run(over transport: any Transport) throws(StoreError) {
        do throws(StoreError) {
            try beginOpening()
            if !waiting.isEmpty { try super.run(over: transport) }
        } catch {
            fail(error)
        }
        try keepOpening()
        if isDropped { try dropParts() }
    }

    private func beginOpening() throws(StoreError) {
        let part = try incoming.begin(pack.address, byteCount: pack.openingByteCount)
        let isWhole = part.offset == pack.openingByteCount
        figures.resumedBytes += part.offset
        openingPart = consume part
        if isWhole, try open() {
            isResumed = true
            return queueFrames()
        }
        queue(0..<0)
    }

    private func keepOpening() throws(StoreError) {
        guard let part = openingPart.take() else { return }
        if failure != nil || isUseless || !waiting.isEmpty { return try part.suspend() }
        try part.discard()
        if isResumed { try dropParts() }
    }

    func dropParts() throws(StoreError) {
        try incoming.discard(PartName(pack.address))
        guard let opening = opening ?? lastOpening else { return }
        for frame in opening.table.frames.indices.dropFirst() {
            try incoming.discard(opening.part(ofFrame: frame))
        }
    }

    /// Abandons the pack if there is no space for it beside its objects.
    override func fail(_ error: StoreError) {
        guard error.code == .outOfSpace else { return super.fail(error) }
        isDropped = true
        giveUp(error)
    }

    private func giveUp(_ why: StoreError) {
        problem = why
        isUseless = true
    }

    // MARK: The opening

    /// Deletes the opening and returns false if it cannot be read.
    private func open() throws(StoreError) -> Bool {
        guard let part = openingPart.take() else { return false }
        let opening: PackOpening
        do throws(StoreError) {
            opening = try part.withBytes { (bytes) throws(StoreError) in
                try PackOpening(parsing: bytes, of: pack, to: version, from: base, limits: limits)
            }
            openingPart = consume part
        } catch {
            guard error.code == .badPack || error.code == .mismatch else { throw error }
            openingPart = consume part
            return try forget(error)
        }
        self.opening = opening
        do throws(StoreError) {
            wish = try opened(opening)
            return true
        } catch {
            guard error.code == .badPack else { throw error }
            return try forget(error)
        }
    }

    private func forget(_ error: StoreError) throws(StoreError) -> Bool {
        problem = error
        lastOpening = opening
        opening = nil
        if let part = openingPart.take() { try part.discard() }
        openingPart = try incoming.begin(pack.address, byteCount: pack.openingByteCount)
        return false
    }

    private func queueFrames() {
        guard let opening, let wish else { return }
        for run in PackSpans.runs(of: opening.table, wanted: { wish.frames[$0] }) {
            plannedCount += 1
            queue(run)
        }
    }

    private func queue(_ frames: Range<Int>) {
        lastBudgetID += 1
        waiting.append(Span(frames: frames, budgetID: lastBudgetID))
    }

    // MARK: What to ask for

    override func begin(_ span: Span) throws(StoreError) -> (TransferRequest, Attempt)? {
        var span = span
        guard let opening else {
            let end = asksForWhole ? pack.byteCount : pack.openingByteCount
            return request(Attempt(span, from: openingPart?.offset ?? 0, to: end, nil))
        }
        while let index = span.frames.first {
            let frame = opening.table.frames[index]
            guard wish?.frames[index] == true else {
                span.frames = index + 1..<span.frames.upperBound
                continue
            }
            let item = try incoming.begin(opening.part(ofFrame: index), byteCount: frame.byteCount)
            if item.offset > 0, resumedFrames.insert(index).inserted, !ownFrames.contains(index) {
                figures.resumedBytes += item.offset
            }
            guard item.offset == frame.byteCount else {
                let end = opening.table.frames[span.frames.upperBound - 1].end
                return request(Attempt(span, from: frame.offset + item.offset, to: end, item))
            }
            span.frames = index + 1..<span.frames.upperBound
            try finish(index, item)
        }
        return nil
    }

    private func request(_ attempt: Attempt) -> (TransferRequest, Attempt) {
        var request = TransferRequest(id: 0, url: url)
        request.offset = attempt.start
        request.end = attempt.end < pack.byteCount ? attempt.end : nil
        request.byteCountMax = pack.byteCount
        return (request, attempt)
    }

    override func tick() -> Bool {
        ticked()
        return super.tick()
    }

    // MARK: Answers

    override func begin(_ attempt: Attempt, _ head: TransferHead) -> BodyDecision {
        let part = StagedPart(
            byteCount: attempt.start, wholeByteCount: pack.byteCount, isProvable: true)
        let asked = StagedPart.Question.rest(offset: attempt.start, ifRange: nil)
        switch Resumption.use(of: head, for: part, asked: asked) {
        case .append: return .take
        case .startOver:
            // The server sends the whole, so the kept part has saved nothing; accept only if little was here.
            figures.resumedBytes = 0
            guard attempt.start < pack.byteCount / 2 else {
                return give(up: "the server sends no parts of it")
            }
            attempt.skipped = attempt.start
            return .take
        case .askForWhole(let reason), .refuse(let reason): return give(up: reason)
        case .failure(let status) where RetryPolicy.isWorthRetrying(status: status):
            return .discard
        case .complete, .failure: return give(up: "the server answered \(head.status)", .discard)
        }
    }

    private func give(up reason: String, _ decision: BodyDecision = .refuse) -> BodyDecision {
        giveUp(.badPack(reason))
        return decision
    }

    override func take(
        _ bytes: UnsafeRawBufferPointer, _ attempt: Attempt
    ) throws(StoreError) -> Bool {
        if isUseless { return false }
        figures.bytes += Int64(bytes.count)
        var bytes = bytes
        if attempt.skipped > 0 {
            let count = Int(min(attempt.skipped, Int64(bytes.count)))
            attempt.skipped -= Int64(count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
        }
        if opening == nil {
            let count = Int(min(pack.openingByteCount - attempt.position, Int64(bytes.count)))
            try openingPart?.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]).bytes)
            attempt.advance(by: count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            guard attempt.position == pack.openingByteCount else { return true }
            guard try open() else {
                isUseless = true
                return false
            }
            guard let wish else {
                attempt.isDone = true
                return false
            }
            guard attempt.end == pack.byteCount || attempt.head?.status == 200 else {
                queueFrames()
                attempt.isDone = true
                return true
            }
            attempt.job.frames = 1..<wish.frames.count
        }
        if attempt.isDone { return true }
        return try takeFrames(bytes, attempt)
    }

    private func takeFrames(
        _ bytes: UnsafeRawBufferPointer, _ attempt: Attempt
    ) throws(StoreError) -> Bool {
        guard let opening, let wish else { return false }
        var bytes = bytes
        while let index = attempt.job.frames.first {
            guard attempt.job.frames.contains(where: { wish.frames[$0] }) else { break }
            let frame = opening.table.frames[index]
            let isWanted = wish.frames[index]
            if isWanted, attempt.item == nil {
                var item = try incoming.begin(
                    opening.part(ofFrame: index), byteCount: frame.byteCount)
                if item.offset > 0 { try item.restart() }
                attempt.item = consume item
            }
            let count = Int(min(frame.end - attempt.position, Int64(bytes.count)))
            let piece = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            if isWanted, count > 0 { try attempt.item?.append(piece.bytes) }
            attempt.advance(by: count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            guard attempt.position == frame.end else { return true }
            attempt.job.frames = index + 1..<attempt.job.frames.upperBound
            if let item = attempt.item.take() { try finish(index, item) }
        }
        attempt.isDone = true
        // A server that sends the whole pack continues beyond the range; end the transfer.
        return bytes.isEmpty && attempt.position == attempt.end
    }

    /// Throws only what ends the whole transfer; a wrong frame is noted.
    private func finish(_ index: Int, _ item: consuming IncomingContent) throws(StoreError) {
        guard let unpacker = wish?.unpacker else { return try item.discard() }
        var wrong: [Reference] = []
        var wrongFrame: StoreError?
        do throws(StoreError) {
            wrong = try item.withBytes { (bytes) throws(StoreError) in
                try unpacker.unpack(bytes, frame: index)
            }
        } catch {
            guard [.badPack, .badFrame, .mismatch].contains(error.code) else { throw error }
            wrongFrame = error
            wrong = unpacker.objects(of: index)
        }
        try item.discard()
        guard wrongFrame != nil || !wrong.isEmpty else { return }
        if resumedFrames.remove(index) != nil {
            // A power cut may have torn the part that an earlier pull left.
            waiting.append(Span(frames: index..<index + 1, budgetID: -index))
            return
        }
        // Frames share bases.
        for base in try unpacker.damagedBases(of: index) where !damagedBases.contains(base) {
            damagedBases.append(base)
        }
        if !damagedBases.isEmpty {
            problem = .damagedBases(damagedBases)
        } else {
            problem =
                wrongFrame
                ?? .badPack("\(counted(wrong.count, "object")) came out of it with other bytes")
        }
    }

    override func end(_ attempt: Attempt, _ ended: TransferOutcome) throws(StoreError) {
        if let item = attempt.item.take() {
            if let frame = attempt.job.frames.first { ownFrames.insert(frame) }
            if isDropped { try item.discard() } else { try item.suspend() }
        }
        if attempt.isDone || isUseless { return }
        var span = attempt.job
        guard failure == nil, ended != .cancelled else { return waiting.append(span) }
        var outcome = ended
        if outcome == .finished, attempt.head.map({ $0.status < 300 }) == true {
            outcome = .failed(TransferFailure(.broken, "only a part of the pack came"))
        }
        guard case .again(let delay) = decide(attempt, outcome), !isTrickling else {
            isUseless = true
            if case .failed(let why) = outcome { problem = .badPack(why.message, .network) }
            problem = problem ?? .badPack("the server does not send it", .network)
            return
        }
        span.due = .now + delay
        waiting.append(span)
    }

    /// Whether so many answers bring so little that objects one by one are better.
    private var isTrickling: Bool {
        let more = Int64(figures.requests - plannedCount)
        return more > 16 && figures.bytes < more * PackSpans.requestByteCount
    }
}
