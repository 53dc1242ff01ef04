import StorageTestSupport

@testable import HotPush
@testable import VersionTree

@Suite("A gradual roll-out") struct RolloutTests {
    // Computed with Python's hashlib: sha256(salt + b"\0" + device), first 8 bytes, modulo 1000.
    @Test(
        "puts a device at the place that its hash says",
        arguments: [
            ("v1", "device-1", 817),
            ("v1", "device-2", 549),
            ("v2", "device-1", 444),
            ("", "", 192),
            ("ünï", "gerät", 190),
        ])
    func places(salt: String, device: String, place: Int) throws {
        try expect(Rollout.place(salt: salt, device: device), equals: place)
        try expect(Rollout(perMille: place + 1, salt: salt).includes(device))
        try expect(!Rollout(perMille: place, salt: salt).includes(device))
    }

    @Test func `never takes a device out when the share is raised, and is fair`() throws {
        for device in (0..<200).map({ "d\($0)" }) {
            let shares = try (0...1000).filter {
                try Rollout(perMille: $0, salt: "v1").includes(device)
            }
            let first = try require(shares.first)
            expect(shares == Array(first...1000) && first > 0)
        }
        let chosen = try (0..<4000).count { number in
            try Rollout(perMille: 250, salt: "v1").includes("d\(number)")
        }
        expect(chosen, equals: 999)
    }

    @Test func `of nothing has nobody, of all everybody, of less nobody without a name`() throws {
        for device in [nil, "", "d"] {
            try expect(!Rollout(perMille: 0, salt: "s").includes(device))
            try expect(!Rollout(perMille: -5, salt: "s").includes(device))
            try expect(Rollout(perMille: 1000, salt: "s").includes(device))
            try expect(Rollout(perMille: 5000, salt: "s").includes(device))
        }
        try expect(!Rollout(perMille: 999, salt: "s").includes(nil))
    }
}

@Suite("The requirements of a release") struct RequirementTests {
    static func app() -> AppTraits {
        var app = AppTraits()
        app.version = "1.2"
        app.compatibility = "abc"
        app.runtimeVersion = "sdk-50"
        app.nativeInterface = 5
        return app
    }

    @Test(
        "are met, or there is a sentence that says why not",
        arguments: [
            ("compatibility", "abc", true), ("compatibility", "abd", false),
            ("compatibility", "ABC", false), ("compatibility", "", false),
            ("runtimeVersion", "sdk-50", true), ("runtimeVersion", "sdk-51", false),
            ("minimumAppVersion", "1.2.0", true), ("minimumAppVersion", "1", true),
            ("minimumAppVersion", "1.2.1", false), ("minimumAppVersion", "newest", false),
            ("appVersionRange", "^1.1", true), ("appVersionRange", "1.2.x", true),
            ("appVersionRange", ">=2", false), ("appVersionRange", "~~1", false),
            ("minimumNativeInterface", "5", true), ("minimumNativeInterface", "6", false),
            ("minimumNativeInterface", "five", false), ("phaseOfTheMoon", "full", false),
            ("", "", false),
        ])
    func table(kind: String, value: String, isMet: Bool) {
        let requirement = Requirement(kind: kind, value: value)
        let objections = Self.app().objections(to: [requirement])
        expect(objections.isEmpty, equals: isMet)
        for objection in objections {
            expect((value.isEmpty || objection.contains(value)) && objection.contains(" "))
        }
        // An app that says nothing of itself meets nothing.
        expect(AppTraits().objections(to: [requirement]).count, equals: 1)
    }

    @Test func `are all named that are not met`() {
        let requirements = [
            Requirement(kind: "compatibility", value: "x"),
            Requirement(kind: "runtimeVersion", value: "sdk-50"),
            Requirement(kind: "minimumAppVersion", value: "9"),
        ]
        expect(Self.app().objections(to: requirements).count, equals: 2)
        expect(Self.app().objections(to: []).isEmpty)
    }

    @Test func `are compared byte by byte, not by Unicode's equivalence`() {
        var app = AppTraits()
        app.compatibility = "e\u{301}"
        let requirement = Requirement(kind: "compatibility", value: "\u{e9}")
        expect(app.objections(to: [requirement]).count, equals: 1)
    }

    @Test func `are kept in the manifest of a version`() throws {
        let terms = ReleaseTerms(
            order: -7,
            requirements: [
                Requirement(kind: "compatibility", value: "x"),
                Requirement(kind: "b", value: "\"y"),
            ])
        let member = try require(terms.member)
        let manifest = try Manifest(
            version: VersionName("1"), ordinal: 1, createdAt: 1, entries: [], foreign: [member])
        expect(ReleaseTerms(of: manifest), equals: terms)
        expect(ReleaseTerms().member == nil)
        let plain = try Manifest(version: VersionName("1"), ordinal: 1, createdAt: 1, entries: [])
        expect(ReleaseTerms(of: plain), equals: ReleaseTerms())
    }
}

@Suite("A decision about an offer") struct UpdateDecisionTests {
    static func content(_ digit: Character) -> ObjectID? {
        ObjectID(String(repeating: digit, count: 64))
    }

    /// 1 is current, 2 is in the store, 3 is incomplete, b was banned and retired.
    static func state(pending: String? = nil) throws -> DeviceState {
        var lifecycle = Lifecycle()
        lifecycle.current = "1"
        lifecycle.pending = pending
        lifecycle.knownGood = ["1"]
        lifecycle.ban("b", content: try require(content("b")), reason: "white page", at: 1)
        var versions: [String: DeviceState.Known] = [:]
        for (name, digit) in [("1", "1"), ("2", "2"), ("3", "3")] as [(String, Character)] {
            versions[name] = .init(content: try require(content(digit)), isComplete: name != "3")
        }
        var state = DeviceState(lifecycle: lifecycle, versions: versions)
        state.device = "device-1"
        state.app = RequirementTests.app()
        return state
    }

    /// A release whose format does not give its content.
    static func offer(_ name: String) throws -> Release {
        var release = Release(
            family: "test/1", version: try VersionName(name), trust: .length, received: [])
        release.files = [ReleaseFile(path: try TreePath("unread"))]
        return release
    }

    enum Answer: Sendable { case nothing, refuse, download, take, waiting, stay }

    @Test(
        "follows from where things stand",
        arguments: [
            // name, content, pending, answer
            ("1", "1", nil, .nothing), ("1", nil, nil, .nothing), ("9", "1", nil, .nothing),
            ("1", "1", "2", .take), ("1", nil, "2", .take), ("9", "1", "2", .stay),
            ("2", "2", nil, .take), ("2", nil, nil, .take), ("2", "2", "2", .waiting),
            ("2", nil, "2", .waiting), ("9", "2", "2", .waiting), ("9", "2", nil, .download),
            ("3", "3", nil, .download), ("3", nil, nil, .download), ("4", "4", nil, .download),
            ("4", nil, "2", .download), ("2", "4", nil, .refuse), ("1", "4", nil, .refuse),
            ("b", nil, nil, .refuse), ("b", "b", nil, .refuse), ("c", "b", nil, .refuse),
            ("b", "c", nil, .download),
        ] as [(String, Character?, String?, Answer)])
    func table(name: String, digit: Character?, pending: String?, answer: Answer) throws {
        var offer = try Self.offer(name)
        offer.statedContent = digit.flatMap { Self.content($0) }
        let decision = try UpdateDecision.decide(on: offer, Self.state(pending: pending))
        switch (decision, answer) {
        case (.nothing(let reason), .nothing): expect(!reason.isEmpty)
        case (.refuse(let reasons), .refuse): expect(reasons.count, equals: 1)
        case (.download, .download), (.take, .take), (.waiting("2"), .waiting): break
        case (.stay("1"), .stay): break
        default: Issue.record("\(decision) instead of \(answer)")
        }
    }

    @Test func `names every reason against a release, and downloads nothing`() throws {
        var offer = try Self.offer("b")
        offer.requirements = [Requirement(kind: "compatibility", value: "x")]
        offer.audience.rollout = Rollout(perMille: 0, salt: "b")
        offer.order = 3
        var state = try Self.state()
        state.embeddedOrder = 4
        guard case .refuse(let reasons) = try UpdateDecision.decide(on: offer, state) else {
            throw Unexpected("not refused")
        }
        expect(reasons.count, equals: 4)
        expect(reasons.contains { $0.contains("white page") })
        expect(reasons.contains { $0.contains("embedded") })
    }

    @Test("takes an older release that the origin offers, but none older than the app itself")
    func older() throws {
        var state = try Self.state()
        var offer = try Self.offer("0")
        offer.order = 1
        try expect(UpdateDecision.decide(on: offer, state), equals: .download)
        state.embeddedOrder = 1
        try expect(UpdateDecision.decide(on: offer, state), equals: .download)
        state.embeddedOrder = 2
        guard case .refuse = try UpdateDecision.decide(on: offer, state) else {
            throw Unexpected("not refused")
        }
        // A format without an order: the origin's word counts.
        offer.order = nil
        try expect(UpdateDecision.decide(on: offer, state), equals: .download)
    }

    @Test func `is the same under an empty store: everything must come`() throws {
        let state = DeviceState(lifecycle: Lifecycle(), versions: [:])
        try expect(UpdateDecision.decide(on: Self.offer("1"), state), equals: .download)
    }
}

@Suite("A decision to switch") struct SwitchDecisionTests {
    @Test func `follows the policy, unless it is forced or the app starts`() {
        let policies: [SwitchPolicy] = [
            .now, .nextNavigation, .nextStart, .background(.seconds(60)),
        ]
        for policy in policies {
            for point in SwitchPoint.allCases {
                for isForced in [false, true] {
                    for isTrusted in [false, true] {
                        let wait = policy.wait(isForced: isForced, at: point, isTrusted: isTrusted)
                        let switches =
                            switch (policy, point) {
                            case (_, .start): true
                            case (.now, _): isForced || isTrusted
                            case (.nextNavigation, .navigation): isForced || isTrusted
                            case (.background, .background): isForced || isTrusted
                            default: isForced
                            }
                        expect((wait == nil), equals: switches, "\(policy) \(point)")
                    }
                }
            }
        }
    }
}
