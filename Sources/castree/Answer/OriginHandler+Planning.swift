import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import Storage
import WebServer

// Long work, on threads beside those that serve, so that no update check waits for it.
extension OriginHandler {
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
            asked.exchange.answer(trouble(error, asked.head))
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
                exchange.answer(trouble(error, head))
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
