import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import Storage
import WebServer

// What takes long, on threads beside those that serve: no check waits for it.
extension OriginHandler {
    /// A request whose answer is made on other threads.
    struct Asked: Sendable {
        let head: RequestHead
        let body: [UInt8]
        let exchange: Exchange
        /// Answers from the origin that stood at its path when this was asked.
        let responder: OriginResponder
        /// When, in milliseconds.
        let time = SystemClock.milliseconds
    }

    /// What is planned for the first time takes as long as its files take to read.
    func waiting(_ asked: Asked) -> Answer {
        .soon(within: Self.planningLimit) { Self.busy(asked.head) }
    }

    /// Has what a client fetches put together, beside the threads that serve; or refuses to, for now.
    ///
    /// On the loop's thread.
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
    /// - Returns: `false` if too much waits already.
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
            // Whether a release lists it has to be read, perhaps.
            return reading.add { [self] in
                let queue = mirror.listed(file) == nil ? asking : fetching
                fetch(file.key.path, asked, by: queue, bring)
            }
        }
    }

    /// Does what waits for the bucket; whoever wants the same waits for it, and keeps no thread busy.
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

    /// Does what ends with an answer, or answers why there is none.
    private func answer(_ asked: Asked, _ work: () throws(StoreError) -> Void) {
        do throws(StoreError) { try work() } catch {
            asked.exchange.answer(trouble(error, asked.head))
        }
    }

    /// Answers with what may be read, and fetches what that consists of before its first byte is sent.
    /// - Parameter done: called once it is answered, or somebody else goes on with it.
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

    /// Answers with what is sent from files: has those come that are not here, and reads all files of an archive before its
    /// first byte is sent, once: not every client would notice a wrong one.
    private func prove(_ response: PlannedResponse, _ asked: Asked) throws(StoreError) {
        let files = response.source?.files ?? []
        var hold = try mirror?.bring(files, since: asked.time)
        for file in response.plan == nil ? [] : files {
            do throws(StoreError) {
                try contents.verify(file.name.address, size: file.byteCount)
            } catch {
                guard let mirror else { throw error }
                // What a mirror has lost or damaged, its bucket still has.
                try mirror.drop(file.name)
                _ = try mirror.bring([file])
                try contents.verify(file.name.address, size: file.byteCount)
            }
        }
        if let source = response.source { hold = mirror?.hold(source) ?? hold }
        if let plan = response.plan {
            // Where nothing of it is sent, nothing of it is read.
            asked.responder.answers.remember(plan, isProven: response.source != nil)
        }
        asked.exchange.answer { [self, hold] in made(response, hold) }
    }
}
