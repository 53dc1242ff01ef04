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
    private let standing: StandingOrigin
    let contents: ContentCache
    let mirror: OriginMirror?
    private let notice: @Sendable (String) -> Void
    /// Reads pointers, histories, manifests, documents.
    let reading = StoreQueue()
    /// Prepares downloads and reads all their parts, which may take seconds.
    let plans = PlanQueue()
    /// Fetches from a bucket the files that releases list.
    let fetching = PlanQueue(.fetching(threads: 16))
    /// Fetches requested files that may not exist.
    let asking = PlanQueue(.fetching(threads: 2))
    /// Looks at pointers that were never requested before, which waits for the bucket.
    let watching = StoreQueue()
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
        _ standing: StandingOrigin, _ contents: ContentCache, _ mirror: OriginMirror? = nil,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.standing = standing
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
            responder = try standing.look()
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
                default: return .response(trouble(error, head))
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
            return .response(Response(head: response.head, body: .pieces(pieces)))
        }
    }

    // MARK: Trouble

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
    func trouble(_ error: StoreError, _ head: RequestHead) -> Response {
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
