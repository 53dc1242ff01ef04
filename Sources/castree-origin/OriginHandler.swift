import CASStore
import ClientSystems
import ServeFromCAS
import Synchronization
import WebServer

/// Answers requests: on the loop what is known, on a thread beside it what has to be read first.
final class OriginHandler: RequestHandler {
    private let responder: OriginResponder
    private let contents: ContentCache
    private let notice: @Sendable (String) -> Void
    /// Reads pointers, histories, manifests, documents.
    private let reading = StoreQueue()
    /// Plans archives and reads all that they consist of: it may take seconds, and the others do not wait for it.
    private let planning = StoreQueue()
    /// What has been said already.
    private let told = Mutex<Set<String>>([])

    /// How long a request waits for something to be read, in milliseconds.
    private static let planningLimit: Int64 = 600_000
    private static let toldMax = 256

    init(
        _ responder: OriginResponder, _ contents: ContentCache,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.responder = responder
        self.contents = contents
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
        do throws(StoreError) {
            return made(try responder.response(to: head, body, mayRead: false))
        } catch {
            guard error.code == .unread else { return .response(trouble(error, head)) }
        }
        guard reading.add({ [self] in read(head, body, exchange) }) else {
            return .response(Self.busy(head))
        }
        // An archive that is planned for the first time takes as long as its files take to read.
        return .soon(within: Self.planningLimit) { Self.busy(head) }
    }

    private func read(_ head: RequestHead, _ body: [UInt8], _ exchange: Exchange) {
        do throws(StoreError) {
            let response = try responder.response(to: head, body, mayRead: true)
            guard response.plan != nil else {
                exchange.answer { [self] in made(response) }
                return
            }
            if !planning.add({ [self] in prove(response, head, exchange) }) {
                exchange.answer(Self.busy(head))
            }
        } catch {
            exchange.answer(trouble(error, head))
        }
    }

    /// Reads all files of an archive before its first byte is sent, once: not every client would notice a wrong one.
    private func prove(_ response: PlannedResponse, _ head: RequestHead, _ exchange: Exchange) {
        do throws(StoreError) {
            for file in response.unproven {
                try contents.verify(file.address, size: file.byteCount)
            }
            if let plan = response.plan { responder.answers.remember(plan) }
            exchange.answer { [self] in made(response) }
        } catch {
            exchange.answer(trouble(error, head))
        }
    }

    private func made(_ response: PlannedResponse) -> Answer {
        switch response.body {
        case .none: return .response(Response(head: response.head))
        case .bytes(let bytes):
            return .response(Response(head: response.head, body: .piece(.bytes(bytes))))
        case .range(let range, let body):
            if case .archive = body.source {
                return .streaming { [contents] exchange in
                    ArchiveSending(exchange, response.head, range, of: body, from: contents)
                }
            }
            let pieces = body.pieces(in: range).map(Response.Piece.init)
            return .response(Response(head: response.head, body: .pieces(pieces)))
        }
    }

    // MARK: Trouble

    private static func busy(_ head: RequestHead) -> Response {
        PlainAnswer.response(
            503, "The origin is being read from a slow disk.", method: head.method,
            fields: [("Retry-After", "30")])
    }

    /// Says what is wrong, to the client that something is.
    private func trouble(_ error: StoreError, _ head: RequestHead) -> Response {
        tell(error)
        return PlainAnswer.response(
            503, "The origin cannot be read as it is now.", method: head.method,
            fields: [("Retry-After", "60")])
    }

    /// Says something once, however many requests meet it.
    func tell(_ error: StoreError) {
        let isNews = told.withLock { told in
            if told.count >= Self.toldMax { told = [] }
            return told.insert(error.message).inserted
        }
        if isNews { notice(error.message) }
    }
}
