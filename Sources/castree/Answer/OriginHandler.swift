import CASStore
import ClientSystems
import HotPush
import Origin
import ServeFromCAS
import Storage
import Synchronization
import WebServer

/// Answers requests: on the loop what is in memory, on another thread what has to be read first.
final class OriginHandler: RequestHandler {
    private let responders: OriginAtPath
    let contents: ContentCache
    let mirror: OriginMirror?
    private let notice: @Sendable (String) -> Void
    /// Reads pointers, histories, manifests, documents.
    let reading = WorkQueue()
    /// Prepares downloads and reads all their parts, which may take seconds.
    let plans = PlanQueue()
    /// Fetches from a bucket the files that releases list.
    let fetching = PlanQueue(.fetching(threads: 16))
    /// Fetches requested files that may not exist.
    let asking = PlanQueue(.fetching(threads: 2))
    /// Looks at pointers that were never requested before, which waits for the bucket.
    let watching = WorkQueue()
    private let told = Mutex<Set<String>>([])

    /// How long a request waits for something to be read, in milliseconds.
    static let planningLimit: Int64 = 600_000
    /// The delay of a refusal to a client with too many requests, in milliseconds, so that asking again at once keeps
    /// nothing busy.
    ///
    /// Differs by connection, so that connections that came together do not all come back together.
    static func refusalDelay(_ connection: ConnectionID) -> Int64 {
        1000 + Int64(connection.raw & 0xffff) * 617 % 1000
    }

    private static let toldMax = 256

    init(
        _ responders: OriginAtPath, _ contents: ContentCache, _ mirror: OriginMirror? = nil,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.responders = responders
        self.contents = contents
        self.mirror = mirror
        self.notice = notice
    }

    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        if OriginResponder.asks(head.method) {
            return .readBody(limit: OriginResponder.bodyByteCountMax) { head, body, exchange in
                self.answer(head, body, exchange)
            }
        }
        return answer(head, [], exchange)
    }

    private func answer(_ head: RequestHead, _ body: [UInt8], _ exchange: Exchange) -> Answer {
        let responder: OriginResponder
        do throws(StoreError) {
            responder = try responders.look()
        } catch {
            // Its error has been reported.
            return .response(Self.later(30, "There is no origin here at the moment.", head))
        }
        let asked = Asked(head: head, body: body, exchange: exchange, responder: responder)
        let lack = mirror.flatMap { mirror in
            responder.servedFile(head).flatMap { mirror.lack($0) }
        }
        if lack == nil {
            do throws(StoreError) {
                let response = try responder.response(to: head, body, mayRead: false)
                if response.isUnproven { return plan(asked) }
                if let answer = ready(response) { return answer }
            } catch {
                switch error.code {
                case .unread: break
                case .unplanned: return plan(asked)
                default: return .response(failureResponse(error, head))
                }
            }
        }
        guard begin(lack, asked) else { return .response(Self.busy(head)) }
        return waiting(asked)
    }

    /// The answer, if everything that it is sent from is here; a mirror keeps that until it is sent.
    private func ready(_ response: PlannedResponse) -> Answer? {
        guard let mirror, let source = response.source else { return made(response, nil) }
        return mirror.hold(source).map { made(response, $0) }
    }

    func made(_ response: PlannedResponse, _ hold: CacheHold?) -> Answer {
        switch response.body {
        case .none: return .response(Response(head: response.head))
        case .bytes(let bytes):
            return .response(Response(head: response.head, body: .piece(.bytes(bytes))))
        case .range(let range, let body):
            if body.isArchive || hold != nil {
                return .streaming { [contents] exchange in
                    ArchiveSending(
                        exchange, response.head, range, of: body, from: contents, holding: hold)
                }
            }
            let pieces = body.pieces(in: range).map(Response.Piece.init)
            var sent = Response(head: response.head, body: .pieces(pieces))
            sent.mayVanish = response.mayVanish
            return .response(sent)
        }
    }

    // MARK: Failures

    private static func later(_ seconds: Int, _ sentence: String, _ head: RequestHead) -> Response {
        PlainAnswer.response(
            503, sentence, method: head.method,
            fields: [("Retry-After", "\(seconds)")] + CrossOrigin.fields(head))
    }

    static func busy(_ head: RequestHead) -> Response {
        later(30, "The origin is being read from a slow disk.", head)
    }

    static func tooMuch(_ head: RequestHead) -> Response {
        later(5, "Too much is being put together, for you or for all.", head)
    }

    /// Reports an error; the client learns only that there is one.
    func failureResponse(_ error: StoreError, _ head: RequestHead) -> Response {
        tell(error)
        return Self.later(60, "The origin cannot be read as it is now.", head)
    }

    /// Reports something once, however many requests meet it.
    func tell(_ error: StoreError) {
        // The mirror reports the state of its bucket.
        if mirror != nil, [.network, .interrupted, .unseenChannel].contains(error.code) { return }
        let isNews = told.withLock { told in
            if told.count >= Self.toldMax { told = [] }
            return told.insert(error.message).inserted
        }
        if isNews { notice(error.message) }
    }

    // MARK: Long work, on threads beside those that serve, so that no update check waits for it

    struct Asked: Sendable {
        let head: RequestHead
        let body: [UInt8]
        let exchange: Exchange
        /// Answers from the origin that was at its path when this was asked.
        let responder: OriginResponder
        let time = SystemClock.milliseconds
    }

    /// The first planning takes as long as reading all its files.
    func waiting(_ asked: Asked) -> Answer {
        .soon(within: Self.planningLimit) { Self.busy(asked.head) }
    }

    /// Has a download prepared beside the serving threads, or refuses to for now; on the loop's thread.
    func plan(_ asked: Asked) -> Answer {
        // The answers to GET and HEAD differ by their body alone, and no query counts.
        let isTaken = plans.add(
            asked.head.text(asked.head.path), for: asked.exchange.client(of: asked.head)
        ) {
            [self] done in make(asked, mayPlan: true, done)
        }
        if isTaken { return waiting(asked) }
        return .soon(within: Self.refusalDelay(asked.exchange.connection)) {
            Self.tooMuch(asked.head)
        }
    }

    /// Does what has to be done before an answer, on another thread.
    /// - Returns: `false` if the queue is full.
    func begin(_ lack: OriginMirror.Lack?, _ asked: Asked) -> Bool {
        guard let mirror, let lack else {
            return reading.add { [self] in make(asked, mayPlan: false) }
        }
        let bring: @Sendable () throws(StoreError) -> Void = { [self] () throws(StoreError) in
            try mirror.bring(lack, since: asked.time)
            make(asked, mayPlan: false)
        }
        switch lack {
        case .pointer:
            return watching.add { [self] in answer(asked, bring) }
        case .file(let file):
            // Finding out whether a release lists it may mean reading a file.
            return reading.add { [self] in
                let queue = mirror.listed(file) == nil ? asking : fetching
                fetch(file.key.path, asked, by: queue, bring)
            }
        }
    }

    /// Does work that waits for the bucket; requests for the same result wait for it without keeping a thread busy.
    private func fetch(
        _ key: String, _ asked: Asked, by queue: PlanQueue,
        _ work: @escaping @Sendable () throws(StoreError) -> Void,
        done: @escaping @Sendable () -> Void = {}
    ) {
        let isTaken = queue.add(key, for: []) { [self] over in
            answer(asked, work)
            over()
            done()
        }
        guard !isTaken else { return }
        asked.exchange.answer(Self.busy(asked.head))
        done()
    }

    /// Does work that ends with an answer, or answers with its error.
    private func answer(_ asked: Asked, _ work: () throws(StoreError) -> Void) {
        do throws(StoreError) { try work() } catch {
            asked.exchange.answer(failureResponse(error, asked.head))
        }
    }

    /// Answers with what may be read, and fetches its parts before its first byte is sent.
    /// - Parameter done: called once it is answered, or another thread has taken over.
    private func make(
        _ asked: Asked, mayPlan: Bool, _ done: @escaping @Sendable () -> Void = {}
    ) {
        let (head, exchange) = (asked.head, asked.exchange)
        do throws(StoreError) {
            let response = try asked.responder.response(
                to: head, asked.body, mayRead: true, mayPlan: mayPlan)
            if !mayPlan, response.isUnproven {
                exchange.answer { [self] in plan(asked) }
            } else if let mirror, let source = response.source {
                if response.plan == nil, let hold = mirror.hold(source) {
                    exchange.answer { [self] in made(response, hold) }
                } else {
                    return fetch(
                        "\(source.tag)", asked, by: fetching,
                        { [self] () throws(StoreError) in try prove(response, asked) }, done: done)
                }
            } else {
                try prove(response, asked)
            }
        } catch {
            if error.code == .unplanned {
                exchange.answer { [self] in plan(asked) }
            } else {
                exchange.answer(failureResponse(error, head))
            }
        }
        done()
    }

    /// Prepares an answer that is sent from files: fetches missing ones, and reads all files of an archive once
    /// before its first byte is sent, because not every client would notice a wrong one.
    private func prove(_ response: PlannedResponse, _ asked: Asked) throws(StoreError) {
        let files = response.source?.files ?? []
        var hold = try mirror?.bring(files, since: asked.time)
        for file in response.plan == nil ? [] : files {
            do throws(StoreError) {
                try contents.verify(file.name.address, size: file.byteCount)
            } catch {
                guard let mirror else { throw error }
                // If a mirror has lost or damaged a file, its bucket still has it.
                try mirror.drop(file.name)
                _ = try mirror.bring([file])
                try contents.verify(file.name.address, size: file.byteCount)
            }
        }
        if let source = response.source { hold = mirror?.hold(source) ?? hold }
        if let plan = response.plan {
            // If nothing of it is sent, nothing of it was read.
            asked.responder.answers.remember(plan, isProven: response.source != nil)
        }
        asked.exchange.answer { [self, hold] in made(response, hold) }
    }
}

extension PlanQueue.Limits {
    /// As many as there are connections that can wait; those are limited elsewhere.
    fileprivate static func fetching(threads: Int) -> PlanQueue.Limits {
        var limits = PlanQueue.Limits()
        (limits.threads, limits.perClient, limits.all) = (threads, 4096, 4096)
        limits.givesWay = false
        return limits
    }
}
