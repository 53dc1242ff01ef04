import ProgramTestSupport

/// Every path of DESIGN.md's *The store on disk*, with each thing that may stand there and is not castree's, under
/// every verb.
///
/// `make test` takes a part: each path with one stranger and one verb, which come in turn. `make test-all` and
/// `make errors` take all.
@Suite("A stranger in place of a path of a store") struct StrangerTests {
    /// Where the strangers and the verbs begin.
    private let start = Int(TestShare.seed % 1009)

    @Test("lets every verb end, is named, is written through by none, and goes with a repair")
    func strangers() throws {
        let ground = try StrangerGround()
        let kinds = StrangerGround.Kind.strangers
        var met: Set<StrangerGround.Kind> = []
        for (number, path) in StrangerGround.paths.enumerated() {
            let turn = TestShare.isWhole ? nil : start + number
            var isMet = false
            for step in kinds.indices where turn == nil || !isMet {
                let kind = kinds[((turn ?? 0) + step) % kinds.count]
                guard let problems = try ground.problems(of: kind, at: path, turn: turn) else {
                    continue
                }
                isMet = true
                met.insert(kind)
                for problem in problems { Issue.record("\(path) | \(kind) | \(problem)") }
            }
            expect(isMet, "\(path)")
        }
        // None but root makes devices.
        expect(met.union([.device]), equals: Set(kinds))
        expect(StrangerGround.paths.count >= ground.verbCount)
    }

    @Test(
        "or what the disk cannot read there, keeps no verb from what it does without, is named, and is set aside by a repair",
        .enabled(if: FileManager.default.fileExists(atPath: CallCounter.library.path)))
    func unreadable() throws {
        let ground = try StrangerGround()
        var count = 0
        for (number, path) in StrangerGround.paths.enumerated() {
            let turn = TestShare.isWhole ? nil : start + number
            guard let problems = try ground.problemsUnreadable(at: path, turn: turn) else {
                continue
            }
            count += 1
            for problem in problems { Issue.record("\(path) | unreadable | \(problem)") }
        }
        expect(count > 20, "\(count)")
    }

    @Test(
        "or what is closed to the store's owner, lets every verb end, is named, and is opened by a repair",
        .needsOtherUser)
    func closed() throws {
        let ground = try StrangerGround(user: 65534)
        for (number, path) in TestShare(oneIn: 4).of(Array(StrangerGround.paths.enumerated())) {
            let turn = TestShare.isWhole ? nil : start + number
            for problem in try ground.problems(of: .closed, at: path, turn: turn) ?? [] {
                Issue.record("\(path) | closed | \(problem)")
            }
        }
    }

    @Test(
        "or what belongs to another user, lets every verb end, is named, and is given back by root's repair",
        .needsOtherUser)
    func foreign() throws {
        let ground = try StrangerGround(user: 65534)
        let paths = StrangerGround.paths.filter { !StrangerGround.isShared($0) }
        for path in TestShare(oneIn: 30).of(paths) {
            for problem in try ground.problems(of: .foreign, at: path) ?? [] {
                Issue.record("\(path) | foreign | \(problem)")
            }
        }
    }
}
