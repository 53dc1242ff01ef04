import StorageTestSupport

@testable import VersionTree

// DESIGN.md, "Starting": every order of events, with equal states merged, to the end.

/// All states that can be reached, breadth first.
private struct Enumeration {
    let model: StartModel
    let events: [StartEvent]
    private(set) var stateCount = 0
    private(set) var transitionCount = 0
    private(set) var problems: [String] = []
    private(set) var seen: Set<StartEvent> = []

    init(_ model: StartModel, versions: [String]) {
        self.model = model
        events = StartEvent.allOfModel(versions)
    }

    /// - Parameter stateMax: where to end, for a part of it.
    /// - Returns: whether it came to an end by itself.
    mutating func run(from start: StartWorld, stateMax: Int = .max) throws -> Bool {
        var known: [StartWorld: Int] = [start: 0]
        var queue = [start]
        var origin: [(parent: Int, event: StartEvent)?] = [nil]
        var position = 0
        defer { stateCount += queue.count }
        while position < queue.count, problems.isEmpty {
            let world = queue[position]
            for event in events {
                guard let next = try model.next(world, event) else { continue }
                transitionCount += 1
                seen.insert(event)
                if let problem = try StartInvariants.problem(world, event, next, model) {
                    let way = Self.way(to: position, origin) + [event]
                    problems.append("\(problem): \(way)")
                    return false
                }
                guard known[next] == nil, known[next.mirrored] == nil else { continue }
                known[next] = queue.count
                queue.append(next)
                origin.append((position, event))
                guard queue.count < stateMax else { return false }
            }
            position += 1
            if position % 20_000 == 0 {
                print("starts: \(position) of \(queue.count) states so far")
                fflush(nil)
            }
        }
        return problems.isEmpty
    }

    private static func way(
        to position: Int, _ origin: [(parent: Int, event: StartEvent)?]
    ) -> [StartEvent] {
        var way: [StartEvent] = []
        var position = position
        while let (parent, event) = origin[position] {
            way.append(event)
            position = parent
        }
        return way.reversed()
    }
}

@Suite("Every order of events around starts")
struct StartModelTests {
    /// `whole`: two versions, to the end; `three`: three of them, which takes hours.
    private var extent: String? { ProcessInfo.processInfo.environment["CASTREE_TEST_STARTS"] }

    @Test(arguments: [false, true])
    func `keeps the promises`(isFirstDay: Bool) throws {
        let isWhole = extent != nil
        var enumeration = Enumeration(
            try StartModel(), versions: extent == "three" ? ["1", "2", "3"] : ["1", "2"])
        let isDone = try enumeration.run(
            from: StartModel.start(isFirstDay: isFirstDay), stateMax: isWhole ? .max : 6000)
        expect(enumeration.problems, equals: [])
        expect(isDone || !isWhole)
        expect(enumeration.seen, equals: Set(enumeration.events))
        print(
            "starts: \(enumeration.stateCount) states, \(enumeration.transitionCount) transitions"
                + (isDone ? "" : ", of more"))
    }

    /// `castree serve --switch next-start`; and "a" has the content of 1, "b" that of 2.
    @Test(
        arguments: [false, true],
        [
            (true, ["1", "2"]), (false, ["1", "a"]), (false, ["1", "2", "a"]),
            (false, ["1", "2", "b"]),
        ])
    func
        `keeps them where what is pending waits for the next process, and for two names of a content`(
            isFirstDay: Bool, _ world: (defersPending: Bool, versions: [String])
        ) throws
    {
        let model = try StartModel(defersPending: world.defersPending)
        var enumeration = Enumeration(model, versions: world.versions)
        _ = try enumeration.run(
            from: StartModel.start(isFirstDay: isFirstDay), stateMax: extent == nil ? 4000 : 400_000
        )
        expect(enumeration.problems, equals: [])
    }

    @Test(arguments: [
        PlantedBug.headStarts, .stopCountsAsFailure, .lockIsNotAsked, .pendingIsNotDeferred,
        .tokensAreForgotten, .keptPagesConfirm, .strangersCount,
    ])
    func `finds each planted bug`(_ bug: PlantedBug) throws {
        let model = try StartModel(bug: bug, defersPending: bug == .pendingIsNotDeferred)
        var enumeration = Enumeration(
            model, versions: bug == .pendingIsNotDeferred ? ["1", "2", "3"] : ["1", "2"])
        _ = try enumeration.run(from: StartModel.start(isFirstDay: false), stateMax: 20_000)
        expect(!enumeration.problems.isEmpty)
    }
}
