import StorageTestSupport

// Whether the model of starts is one of castree: its ways, gone by real processes.

/// The ways of the model from one start of it, and what each leads to.
private struct Replay {
    let model: StartModel
    let isFirstDay: Bool
    private(set) var stepCount = 0
    private(set) var wayCount = 0
    /// What was not as the model says.
    private(set) var differences: [String] = []

    /// Goes every way of so many events, and holds each step against the model.
    ///
    /// Events that change nothing are tried where they are possible, one after the other.
    mutating func explore(depth: Int) throws {
        try explore(
            StartModel.start(isFirstDay: isFirstDay), [], RealStarts(isFirstDay: isFirstDay), depth)
    }

    private mutating func explore(
        _ world: StartWorld, _ way: [StartEvent], _ real: RealStarts, _ depth: Int
    ) throws {
        var changes: [(StartEvent, StartWorld)] = []
        for event in StartEvent.all(["1", "2", "a"]) {
            guard let next = try model.next(world, event) else { continue }
            if next == world {
                try step(real, event, world, way)
            } else {
                changes.append((event, next))
            }
        }
        wayCount += 1
        guard depth > 0 else { return }
        // The first continues with what is there.
        var living: RealStarts? = real
        for (event, next) in changes {
            let real = try living ?? again(way)
            living = nil
            try step(real, event, next, way)
            try explore(next, way + [event], real, depth - 1)
        }
    }

    mutating func go(_ way: [StartEvent]) throws {
        let real = try RealStarts(isFirstDay: isFirstDay)
        var world = try StartModel.start(isFirstDay: isFirstDay)
        for (position, event) in way.enumerated() {
            let next = try model.next(world, event)
            world = try require(next)
            try step(real, event, world, Array(way[..<position]))
        }
        wayCount += 1
    }

    private func again(_ way: [StartEvent]) throws -> RealStarts {
        let real = try RealStarts(isFirstDay: isFirstDay)
        for event in way { try real.run(event) }
        return real
    }

    private mutating func step(
        _ real: RealStarts, _ event: StartEvent, _ expected: StartWorld, _ way: [StartEvent]
    ) throws {
        try real.run(event)
        stepCount += 1
        let (picture, model) = (try real.picture(), StartPicture(expected))
        guard picture != model else { return }
        let day = isFirstDay ? "first day: " : ""
        differences.append("\(day)\(way + [event]) leads to \(picture), not \(model)")
    }
}

/// What an event does, as far as the picture tells: of all edges of the model that are alike one is gone.
private struct EdgeKind: Hashable {
    let event: String
    let isKnown: [Bool]
    let changes: [String]

    init(_ before: StartWorld, _ event: StartEvent, _ after: StartWorld) {
        let (then, now) = (StartPicture(before), StartPicture(after))
        // Which server and which version it is decides nothing.
        self.event = "\(event)".filter { !$0.isNumber }
        var changes: [String] = []
        func note(_ what: String, _ isChanged: Bool) { if isChanged { changes.append(what) } }
        note("current", then.current != now.current)
        note("pending to \(now.pending == nil)", then.pending != now.pending)
        note("before", then.before != now.before)
        note("known good", then.knownGood != now.knownGood)
        note("bans", then.bans != now.bans)
        note(
            "boot to \(now.boot.map { "\($0.isWatched) \($0.isCounted)" } ?? "none")",
            then.boot != now.boot)
        note("lock to \(now.lock == nil)", then.lock != now.lock)
        note("pages", then.pages != now.pages)
        note("strikes", then.attempts.map(\.failedAttempts) != now.attempts.map(\.failedAttempts))
        note("taken back", then.attempts.map(\.takenBack) != now.attempts.map(\.takenBack))
        self.changes = changes
        isKnown = [
            then.boot != nil, then.boot?.isWatched == true, then.pending != nil, then.lock != nil,
        ]
    }
}

extension StartModel {
    /// The shortest way to each kind of edge, as far as so many states show them.
    fileprivate func waysToEdges(isFirstDay: Bool, stateMax: Int) throws -> [[StartEvent]] {
        var ways: [[StartEvent]] = []
        var kinds: Set<EdgeKind> = []
        var known: Set<StartWorld> = []
        var queue = [(world: try Self.start(isFirstDay: isFirstDay), way: [StartEvent]())]
        known.insert(queue[0].world)
        var position = 0
        while position < queue.count, position < stateMax {
            let (world, way) = queue[position]
            position += 1
            for event in StartEvent.all(["1", "2", "a", "b"]) {
                guard let next = try next(world, event) else { continue }
                if kinds.insert(EdgeKind(world, event, next)).inserted {
                    ways.append(way + [event])
                }
                if known.insert(next).inserted { queue.append((next, way + [event])) }
            }
        }
        return ways
    }
}

@Suite("What real processes do around starts", .serialized)
struct StartReplayTests {
    /// With `CASTREE_TEST_STARTS` everything, else what takes seconds.
    private static let isWhole = ProcessInfo.processInfo.environment["CASTREE_TEST_STARTS"] != nil

    @Test(arguments: [false, true])
    func `is what the model says, in every order of so many events`(isFirstDay: Bool) throws {
        var replay = Replay(model: try StartModel(), isFirstDay: isFirstDay)
        try replay.explore(depth: Self.isWhole ? 3 : 1)
        expect(replay.differences, equals: [])
        print("starts: \(replay.wayCount) ways, \(replay.stepCount) steps of real processes")
    }

    /// One in so many, where not all kinds are tried.
    private static let share: UInt64 = 40

    @Test(arguments: [false, true])
    func `is what the model says, at every kind of its edges`(isFirstDay: Bool) throws {
        let model = try StartModel()
        var replay = Replay(model: model, isFirstDay: isFirstDay)
        let ways = try model.waysToEdges(
            isFirstDay: isFirstDay, stateMax: Self.isWhole ? 20_000 : 1000)
        var random = SeededRandom()
        for way in ways where Self.isWhole || random.next() % Self.share == 0 { try replay.go(way) }
        expect(replay.differences, equals: [])
        print(
            "starts: \(replay.wayCount) of \(ways.count) kinds of edges, "
                + "\(replay.stepCount) steps of real processes")
    }

    @Test(
        "is seen not to be what a wrong model says",
        arguments: [
            (PlantedBug.headStarts, [.begin(0), .activate("2"), .visit(.head, 0)]),
            (.stopCountsAsFailure, [.activate("2"), .begin(0), .visit(.navigation, 0), .stop(0)]),
            (.lockIsNotAsked, [.activate("2"), .begin(0), .visit(.navigation, 0), .boot]),
        ] as [(PlantedBug, [StartEvent])])
    func isSeen(_ bug: PlantedBug, _ way: [StartEvent]) throws {
        var replay = Replay(model: try StartModel(bug: bug), isFirstDay: false)
        try replay.go(way)
        expect(!replay.differences.isEmpty)
    }
}
