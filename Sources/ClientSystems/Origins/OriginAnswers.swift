package import CASStore
package import HotPush
import Origin
import Synchronization

/// What a server sends to a client, before ranges and conditions.
package struct ServedAnswer: Sendable {
    package var status: Int
    package var fields: [ClientRequest.Field]
    package var body: Body
    package var isUnconditional = false
    /// For a composed archive whose files were not yet compared with their names: see
    /// ``OriginAnswers/remember(_:isProven:)``.
    package var plan: Plan?

    package enum Body: Sendable {
        case bytes([UInt8])
        case composed(AnswerBody)
    }

    /// What an archive's answer depends on.
    package struct Plan: Sendable {
        let path: String
        let fields: [ClientRequest.Field]
        /// Its answer, whose body may be sent once its files have been compared.
        package let body: AnswerBody
        let system: ClientSystem
        let configuration: UInt64
        let looks: [OriginView.Look]
        var isProven = false
    }
}

/// Answers the clients of all systems that are enabled in an origin.
///
/// Composed archives are planned once. The plan is kept for the next range request while the pointers, histories and
/// configuration stay the same. So a feed's answer with an archive MUST depend only on the path, in one spelling, and
/// on what it looked up. Thread-safe.
package final class OriginAnswers: Sendable {
    package let reader: OriginReader
    private let feeds: [any ClientFeed.Type]
    private let planned: Mutex<RecentlyUsed<String, ServedAnswer.Plan>>

    package convenience init(_ reader: OriginReader) {
        self.init(reader, feeds: ClientSystem.feeds)
    }

    /// - Parameter planned: approximate bytes in memory for the plans of archives.
    init(_ reader: OriginReader, feeds: [any ClientFeed.Type], planned: Int = 8 << 20) {
        self.reader = reader
        self.feeds = feeds
        self.planned = Mutex(RecentlyUsed(limit: planned, keepsOneLarger: true))
    }

    package func moved(to origin: DirectoryOrigin) -> OriginAnswers {
        OriginAnswers(reader.moved(to: origin), feeds: feeds)
    }

    /// The systems that are enabled, in the order of their names.
    /// - Parameter tell: receives what is wrong with a configuration; its clients get no answers until it is mended.
    package func systems(_ tell: (StoreError) -> Void) -> [ClientSystem] {
        ClientSystem.allCases.sorted().filter { system in
            do throws(StoreError) {
                let kept = try reader.configuration(of: system, mayRead: true)
                return try kept.outcome.get()?.isEnabled == true
            } catch {
                tell(error)
                return false
            }
        }
    }

    /// The answer to a request; `nil` if its path belongs to no system.
    /// - Parameters:
    ///   - mayRead: whether files may be read.
    ///   - mayPlan: whether downloads may be prepared: archives, and other files of releases whose manifests are not
    ///     in memory. By default the same as `mayRead`.
    /// - Throws: `.unread`, `.unplanned` where that would be necessary; what is wrong with the origin.
    package func answer(
        _ request: ClientRequest, mayRead: Bool, mayPlan: Bool? = nil
    ) throws(StoreError) -> ServedAnswer? {
        if let known = try known(request, mayRead: mayRead) { return known }
        var failure: StoreError?
        for feed in feeds {
            let configuration: ClientConfiguration?
            let reading: UInt64
            do throws(StoreError) {
                let kept = try reader.configuration(of: feed.system, mayRead: mayRead)
                reading = kept.reading
                configuration = try kept.outcome.get()
            } catch {
                guard error.code != .unread, error.code != .unplanned else { throw error }
                // One system's broken file must not leave the others without answers.
                failure = failure ?? error
                continue
            }
            guard let configuration, configuration.isEnabled else { continue }
            let view = OriginView(reader, mayRead: mayRead, mayPlan: mayPlan ?? mayRead)
            let inquiry = ClientInquiry(
                request: request, configuration: configuration, origin: view)
            do throws(StoreError) {
                guard let answer = try feed.answer(inquiry) else { continue }
                return try made(answer, request, feed.system, reading, view)
            } catch {
                throw view.isFetch && error.code == .unread ? OriginView.unplanned : error
            }
        }
        if let failure { throw failure }
        return nil
    }

    private func made(
        _ answer: ClientAnswer, _ request: ClientRequest, _ system: ClientSystem,
        _ configuration: UInt64, _ view: OriginView
    ) throws(StoreError) -> ServedAnswer {
        if case .archive = answer.body, !view.mayPlan { throw OriginView.unplanned }
        guard let body = try AnswerBody(answer.body) else {
            return ServedAnswer(
                status: answer.status, fields: answer.fields,
                body: .bytes(try bytes(of: answer.body, view)))
        }
        var made = ServedAnswer(
            status: answer.status, fields: answer.fields, body: .composed(body),
            isUnconditional: answer.isUnconditional)
        if case .archive = body.source, answer.status == 200 {
            made.plan = ServedAnswer.Plan(
                path: request.path, fields: answer.fields, body: body, system: system,
                configuration: configuration, looks: view.looks)
        }
        return made
    }

    private func bytes(
        of body: ClientAnswer.Body, _ view: OriginView
    ) throws(StoreError) -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .document(let document, let system):
            guard let bytes = try view.bytes(of: document, for: system) else {
                throw .damagedOrigin(
                    "\(OriginLayout.clientDocument(document.address, of: system.rawValue)) is missing; "
                        + "castree publish --verify makes it again")
            }
            return bytes
        case .none, .object, .gzip, .archive: return []
        }
    }

    // MARK: Plans

    /// Keeps the plan of an archive.
    /// - Parameter isProven: whether its files were compared with their names; otherwise the sender compares them.
    package func remember(_ plan: ServedAnswer.Plan, isProven: Bool = true) {
        var plan = plan
        plan.isProven = isProven
        let cost = plan.body.cost + plan.path.utf8.count
        _ = planned.withLock { $0.insert(plan.path, plan, cost: cost) }
    }

    private func known(
        _ request: ClientRequest, mayRead: Bool
    ) throws(StoreError) -> ServedAnswer? {
        guard request.method == "GET", request.body.isEmpty else { return nil }
        guard let plan = planned.withLock({ $0.value(of: request.path) }) else { return nil }
        let kept = try reader.configuration(of: plan.system, mayRead: mayRead)
        var isStill = kept.reading == plan.configuration
        for look in plan.looks where isStill {
            let number = try reader.channel(look.channel, for: look.system, mayRead: mayRead)
                .number
            isStill = number == look.number
        }
        guard isStill else {
            _ = planned.withLock { $0.remove(request.path) }
            return nil
        }
        return ServedAnswer(
            status: 200, fields: plan.fields, body: .composed(plan.body),
            plan: plan.isProven ? nil : plan)
    }
}
