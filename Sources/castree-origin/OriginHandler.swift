import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import Synchronization
import WebServer

/// Answers requests: on the loop what is known, on a thread beside it what has to be read first.
final class OriginHandler: RequestHandler {
    let responder: OriginResponder
    let contents: ContentCache
    /// Brings files from a bucket; `nil` if the origin is all here.
    let mirror: OriginMirror?
    private let notice: @Sendable (String) -> Void
    /// Reads pointers, histories, manifests, documents.
    private let reading = StoreQueue()
    /// Plans archives and reads all that they consist of: it may take seconds, and the others do not wait for it.
    private let planning = StoreQueue()
    /// Looks at pointers that nobody has asked for before: that waits for the bucket.
    private let watching = StoreQueue()
    /// What has been said already.
    private let told = Mutex<Set<String>>([])

    /// How long a request waits for something to be read, in milliseconds.
    private static let planningLimit: Int64 = 600_000
    private static let toldMax = 256

    init(
        _ responder: OriginResponder, _ contents: ContentCache, _ mirror: OriginMirror? = nil,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.responder = responder
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
        let lack = lack(head)
        if lack == nil {
            do throws(StoreError) {
                let response = try responder.response(to: head, body, mayRead: false)
                if let answer = ready(response) { return answer }
            } catch {
                guard error.code == .unread else { return .response(trouble(error, head)) }
            }
        }
        guard begin(lack, head, body, exchange) else { return .response(Self.busy(head)) }
        // An archive that is planned for the first time takes as long as its files take to read.
        return .soon(within: Self.planningLimit) { Self.busy(head) }
    }

    /// Does what has to be done before an answer, on another thread.
    /// - Returns: `false` if too much waits already.
    private func begin(
        _ lack: OriginMirror.Lack?, _ head: RequestHead, _ body: [UInt8], _ exchange: Exchange
    ) -> Bool {
        switch lack {
        case nil: return reading.add { [self] in read(head, body, exchange) }
        case .pointer(let channel):
            return watching.add { [self] in
                mirror?.watch(channel)
                goOn(head, body, exchange)
            }
        case .file(let file):
            return reading.add { [self] in
                mirror?.bring(file) { [self] failure in
                    if let failure { return exchange.answer(trouble(failure, head)) }
                    goOn(head, body, exchange)
                }
            }
        }
    }

    private func goOn(_ head: RequestHead, _ body: [UInt8], _ exchange: Exchange) {
        if !reading.add({ [self] in read(head, body, exchange) }) {
            exchange.answer(Self.busy(head))
        }
    }

    /// Answers with what may be read, and fetches what that consists of before its first byte is sent.
    private func read(_ head: RequestHead, _ body: [UInt8], _ exchange: Exchange) {
        do throws(StoreError) {
            let response = try responder.response(to: head, body, mayRead: true)
            if let mirror, let source = response.source {
                if response.plan == nil, let hold = mirror.hold(source) {
                    return exchange.answer { [self] in made(response, hold) }
                }
                return mirror.bring(source.files) { [self] result in
                    switch result {
                    case .failure(let error): exchange.answer(trouble(error, head))
                    case .success(let hold): prove(response, hold, head, exchange)
                    }
                }
            }
            guard response.plan != nil else {
                return exchange.answer { [self] in made(response, nil) }
            }
            prove(response, nil, head, exchange)
        } catch {
            exchange.answer(trouble(error, head))
        }
    }

    /// Reads all files of an archive before its first byte is sent, once: not every client would notice a wrong one.
    private func prove(
        _ response: PlannedResponse, _ hold: MirrorHold?, _ head: RequestHead, _ exchange: Exchange
    ) {
        let isTaken = planning.add { [self] in
            do throws(StoreError) {
                let hold = try proven(response, hold)
                if let plan = response.plan { responder.answers.remember(plan) }
                exchange.answer { [self] in made(response, hold) }
            } catch {
                exchange.answer(trouble(error, head))
            }
        }
        if !isTaken { exchange.answer(Self.busy(head)) }
    }

    func made(_ response: PlannedResponse, _ hold: MirrorHold?) -> Answer {
        switch response.body {
        case .none: return .response(Response(head: response.head))
        case .bytes(let bytes):
            return .response(Response(head: response.head, body: .piece(.bytes(bytes))))
        case .range(let range, let body):
            var isArchive = false
            if case .archive = body.source { isArchive = true }
            if isArchive || hold != nil {
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

    private static func busy(_ head: RequestHead) -> Response {
        PlainAnswer.response(
            503, "The origin is being read from a slow disk.", method: head.method,
            fields: [("Retry-After", "30")] + CrossOrigin.fields(head))
    }

    /// Says what is wrong, to the client that something is.
    private func trouble(_ error: StoreError, _ head: RequestHead) -> Response {
        tell(error)
        return PlainAnswer.response(
            503, "The origin cannot be read as it is now.", method: head.method,
            fields: [("Retry-After", "60")] + CrossOrigin.fields(head))
    }

    /// Says something once, however many requests meet it.
    func tell(_ error: StoreError) {
        // The mirror says what becomes of its bucket.
        if mirror != nil, [.network, .interrupted, .unseenChannel].contains(error.code) { return }
        let isNews = told.withLock { told in
            if told.count >= Self.toldMax { told = [] }
            return told.insert(error.message).inserted
        }
        if isNews { notice(error.message) }
    }
}
