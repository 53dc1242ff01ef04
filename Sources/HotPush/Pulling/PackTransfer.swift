import CASStore
import VersionTree

/// Fetches a pack, or parts of it, and unpacks it as it arrives; belongs to one thread.
///
/// The first bytes are the opening (table and manifest), after which the caller says what it wants of the rest. Parts
/// are kept in `staging/`: the opening under the pack's address, a cut-off frame as ``PackOpening/part(ofFrame:)``. A
/// useless pack loses nothing: ``trouble`` says why, and the rest comes another way.
final class PackTransfer: TransferClient {
    /// Frames that one request asks for; empty for the opening alone.
    struct Span {
        var frames: Range<Int>
        var due: ContinuousClock.Instant?
        let budgetID: Int
    }

    final class Running {
        var span: Span
        var position: Int64
        let end: Int64
        /// How many bytes to skip because the server sends the whole pack.
        var skipped: Int64 = 0
        let start: Int64
        var head: TransferHead?
        var arrival: Arrival?
        var isTooSlow = false
        var isDone = false
        var drip: DripWatch
        var pace = DripWatch.Pace.undecided
        var newByteCount: Int64 = 0

        init(
            _ span: Span, from start: Int64, to end: Int64, _ arrival: consuming Arrival?,
            _ drip: DripWatch
        ) {
            self.span = span
            self.drip = drip
            self.start = start
            position = start
            self.end = end
            self.arrival = arrival
        }
    }

    let pack: Delivery.Pack
    let version: PublishedVersion
    let base: Manifest?
    /// Whether the first request asks for the whole pack, before its table is known; else only for the opening.
    let asksForWhole: Bool
    let arrivals: Arrivals
    private let url: String
    private let limits: Manifest.Limits
    private let isInterrupted: () -> Bool
    private let ticked: () -> Void
    private let opened: (PackOpening) throws(StoreError) -> PackWish?

    private(set) var opening: PackOpening?
    var openingPart: Arrival?
    var wish: PackWish?
    var isOpen: Bool { opening != nil }
    var queue: [Span] = []
    var running: [Int: Running] = [:]
    private var lastBudgetID = 0
    var budget: RetryBudget
    var generator = SystemRandomNumberGenerator()
    private(set) var dripLimit: DripLimit?

    var trouble: StoreError?
    var isUseless = false
    /// The error that ends the whole pull.
    var failure: StoreError?
    /// Whether its parts are useless to a later pull too.
    private(set) var isDropped = false
    private var lastOpening: PackOpening?
    private var plannedCount = 1
    private var isResumed = false
    /// Frames whose first bytes came from an earlier pull: a wrong one is requested once more.
    var resumedFrames: Set<Int> = []
    var ownFrames: Set<Int> = []
    var damagedBases: [ObjectID] = []
    var figures = DownloadFigures()

    /// - Parameters:
    ///   - budget: shared by all packs of a pull: they are optional, and must not delay the objects.
    ///   - opened: called once with the opening; returns `nil` if nothing more is wanted. An error ends the pull.
    init(
        _ pack: Delivery.Pack, at url: String, to version: PublishedVersion, from base: Manifest?,
        asksForWhole: Bool, into arrivals: Arrivals, limits: Manifest.Limits,
        budget: RetryBudget, isInterrupted: @escaping () -> Bool,
        ticked: @escaping () -> Void = {},
        opened: @escaping (PackOpening) throws(StoreError) -> PackWish?
    ) {
        self.pack = pack
        self.url = url
        self.version = version
        self.base = base
        self.asksForWhole = asksForWhole
        self.arrivals = arrivals
        self.limits = limits
        self.isInterrupted = isInterrupted
        self.budget = budget
        self.ticked = ticked
        self.opened = opened
    }

    /// ``trouble`` or ``failure`` tell what could not be fetched; throws only what is wrong with the transport itself.
    func run(over transport: any Transport) throws(StoreError) {
        dripLimit = DripLimit(budget.policy, over: transport)
        do throws(StoreError) {
            do throws(StoreError) { try beginOpening() } catch { try giveUp(error) }
            if failure == nil, !queue.isEmpty { try transport.run(self) }
        } catch {
            failure = failure ?? error
        }
        try keepOpening()
        if isDropped { try dropParts() }
    }

    private func beginOpening() throws(StoreError) {
        let part = try arrivals.begin(pack.address, byteCount: pack.openingByteCount)
        let isWhole = part.offset == pack.openingByteCount
        figures.resumedBytes += part.offset
        openingPart = consume part
        if isWhole, try open() {
            isResumed = true
            return queueFrames()
        }
        lastBudgetID += 1
        queue.append(Span(frames: 0..<0, budgetID: lastBudgetID))
    }

    private func keepOpening() throws(StoreError) {
        guard let part = openingPart.take() else { return }
        if failure != nil || isUseless || !queue.isEmpty { return try part.suspend() }
        try part.discard()
        if isResumed { try dropParts() }
    }

    func dropParts() throws(StoreError) {
        try arrivals.discard(PartName(pack.address))
        guard let opening = opening ?? lastOpening else { return }
        for frame in opening.table.frames.indices.dropFirst() {
            try arrivals.discard(opening.part(ofFrame: frame))
        }
    }

    /// Abandons the pack if there is no room for it beside its objects.
    func giveUp(_ error: StoreError) throws(StoreError) {
        guard error.code == .outOfSpace else { throw error }
        trouble = error
        isUseless = true
        isDropped = true
    }

    // MARK: The opening

    /// Deletes the opening and returns false if it cannot be read.
    func open() throws(StoreError) -> Bool {
        guard let part = openingPart.take() else { return false }
        let opening: PackOpening
        do throws(StoreError) {
            opening = try part.withBytes { (bytes) throws(StoreError) in
                try PackOpening(
                    parsing: bytes, of: pack, to: version, from: base, limits: limits)
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
        trouble = error
        lastOpening = opening
        opening = nil
        if let part = openingPart.take() { try part.discard() }
        openingPart = try arrivals.begin(pack.address, byteCount: pack.openingByteCount)
        return false
    }

    func queueFrames() {
        guard let opening, let wish else { return }
        for run in PackSpans.runs(of: opening.table, wanted: { wish.frames[$0] }) {
            lastBudgetID += 1
            plannedCount += 1
            queue.append(Span(frames: run, budgetID: lastBudgetID))
        }
    }

    /// Whether so many answers bring so little that objects one by one are better.
    var isTrickling: Bool {
        let more = Int64(figures.requests - plannedCount)
        return more > 16 && figures.bytes < more * PackSpans.requestByteCount
    }

    // MARK: What to ask for

    func next() -> NextTransfer {
        while failure == nil, !isUseless, !queue.isEmpty {
            let now = ContinuousClock.now
            guard let ready = queue.firstIndex(where: { $0.due.map { $0 <= now } ?? true }) else {
                let due = queue.compactMap(\.due).min() ?? now
                return .wait(milliseconds: Int(max(1, (due - now).milliseconds + 1)))
            }
            do throws(StoreError) {
                do throws(StoreError) {
                    if let request = try begin(queue.remove(at: ready)) { return .request(request) }
                } catch {
                    try giveUp(error)
                }
            } catch {
                failure = error
            }
        }
        return .nothing
    }

    private func begin(_ span: Span) throws(StoreError) -> TransferRequest? {
        var span = span
        guard let opening else {
            let start = openingPart?.offset ?? 0
            let end = asksForWhole ? pack.byteCount : pack.openingByteCount
            return request(span, from: start, to: end, nil)
        }
        while let index = span.frames.first {
            let frame = opening.table.frames[index]
            guard wish?.frames[index] == true else {
                span.frames = index + 1..<span.frames.upperBound
                continue
            }
            let arrival = try arrivals.begin(
                opening.part(ofFrame: index), byteCount: frame.byteCount)
            if arrival.offset > 0, resumedFrames.insert(index).inserted, !ownFrames.contains(index)
            {
                figures.resumedBytes += arrival.offset
            }
            guard arrival.offset == frame.byteCount else {
                let end = opening.table.frames[span.frames.upperBound - 1].end
                return request(span, from: frame.offset + arrival.offset, to: end, arrival)
            }
            span.frames = index + 1..<span.frames.upperBound
            try finish(index, arrival)
        }
        return nil
    }

    private func request(
        _ span: Span, from start: Int64, to end: Int64, _ arrival: consuming Arrival?
    ) -> TransferRequest {
        figures.requests += 1
        let id = figures.requests
        var request = TransferRequest(id: id, url: url)
        request.offset = start
        request.end = end < pack.byteCount ? end : nil
        request.byteCountMax = pack.byteCount
        running[id] = Running(span, from: start, to: end, arrival, DripWatch(dripLimit))
        return request
    }

    // MARK: Now and then

    func tick() -> Bool {
        ticked()
        if failure == nil, isInterrupted() { failure = .interruptedPull }
        return failure == nil
    }
}
