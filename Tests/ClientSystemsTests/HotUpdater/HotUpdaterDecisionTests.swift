import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// Which bundle a device is told: hot-updater's rules, one by one for both strategies, and all small channels at once.
@Suite struct HotUpdaterDecisionTests {
    // MARK: Roll-outs

    @Test func `Each bundle shuffles the cohorts as hot-updater does`() {
        let table: [(String, [Int], [Int])] = [
            ("bundle-a", [309, 890, 228, 728], [133, 312, 596, 775, 954]),
            (
                "0195a408-8f13-7d9b-8df4-123456789abc", [284, 37, 31, 531],
                [241, 407, 573, 824, 990]
            ),
        ]
        for (bundle, places, firstFive) in table {
            expect(
                [1, 2, 500, 1000].map { HotUpdaterCohort.place(of: $0, in: bundle) }, equals: places
            )
            let order = (1...1000).map { HotUpdaterCohort.place(of: $0, in: bundle) }
            expect(order.sorted(), equals: Array(0..<1000))
            expect((1...1000).filter { order[$0 - 1] < 5 }, equals: firstFive)
        }
        // The number that a device draws from its name by the same hash.
        expect(((HotUpdaterCohort.hash(of: "device-1") % 1000) + 1000) % 1000 + 1, equals: 267)
    }

    @Test func `A cohort is a number from 1 to 1000, or a name; case and blanks do not count`() {
        let numbers = ["1": 1, " 7 ": 7, "007": 7, "1000": 1000]
        for (text, number) in numbers { expect(HotUpdaterCohort(text), equals: .number(number)) }
        for text in ["0", "1001", "-1", "1.5", "", "qa", "99999999999999999999999"] {
            expect(HotUpdaterCohort(text), equals: .name(text))
        }
        expect(HotUpdaterCohort(" QA-Group "), equals: .name("qa-group"))
        for text in ["qa", "qa-group-7", "5", "a" + String(repeating: "-", count: 63)] {
            expect(HotUpdaterCohort(text).canBeSaid)
        }
        for text in ["", "0", "1001", "qa group", "q_a", "ü", String(repeating: "a", count: 65)] {
            expect(!HotUpdaterCohort(text).canBeSaid)
        }
    }

    @Test func `Roll-outs and groups include the devices that hot-updater includes`() {
        let bundle = "bundle-a"
        func includes(_ perMille: Int?, _ groups: [String], _ cohort: String?) -> Bool {
            HotUpdaterCohort.includes(
                cohort.map { HotUpdaterCohort($0) },
                perMille.map { Rollout(perMille: $0, salt: "") }, groups: groups, bundle: bundle)
        }
        // Cohort 1 is at 309.
        expect(!includes(309, [], "1") && includes(310, [], "1"))
        expect(includes(nil, [], nil) && includes(1000, [], nil) && !includes(999, [], nil))
        expect(!includes(0, [], "133") && includes(1, [], "954") || includes(5, [], "954"))
        // A device in a group of its own takes part in no roll-out.
        expect(!includes(nil, [], "qa") && !includes(1000, [], "qa"))
        expect(includes(nil, ["qa", "x"], "QA") && !includes(nil, ["qa"], "1"))
        expect(includes(nil, ["1"], "1") && !includes(nil, ["qa"], nil))
    }

    // MARK: Channels, drawn

    /// A bundle: its id's place, and for whom it is.
    private struct Offered: Hashable, CustomStringConvertible {
        var id: Int
        var app = "1.0"
        var perMille: Int?
        var group: String?
        var isDisabled = false
        var isMandatory = false

        var description: String {
            "\(id)\(isDisabled ? "-" : "")\(perMille.map { "@\($0)" } ?? "")\(group ?? "")"
        }
    }

    private enum Strategy: CaseIterable { case appVersion, fingerprint }

    private static func id(_ number: Int) -> String {
        let digits = String(number)
        return "01957179-0000-7000-8000-" + String(repeating: "0", count: 12 - digits.count)
            + digits
    }

    /// The channel that offers the bundles, the first on top.
    private static func channel(
        _ bundles: [Offered?], _ strategy: Strategy
    ) throws -> ClientChannel {
        var history = ClientHistory(.hotUpdater, .stable)
        var releases: [ChannelRelease] = []
        for (position, bundle) in bundles.enumerated() {
            let sequence = Int64(bundles.count - position)
            guard let bundle else {
                history.offers.append(
                    ClientOffer(
                        sequence: sequence, target: .embedded, createdAt: 1, firstOfferedAt: 1))
                releases.append(ChannelRelease(.embedded, sequence: sequence, createdAt: 1))
                continue
            }
            let content = try ObjectID(of: [UInt8(bundle.id)])
            let version = PublishedVersion(
                name: try VersionName("r\(bundle.id)"), manifest: content, manifestByteCount: 1,
                content: content)
            var offer = ClientOffer(
                sequence: sequence, target: .version(version, facts: content), createdAt: 1,
                firstOfferedAt: 1)
            offer.id = Self.id(bundle.id)
            history.offers.append(offer)
            if bundle.isDisabled { continue }
            var requirements = [
                Requirement(
                    kind: strategy == .appVersion
                        ? Requirement.appVersionRange : Requirement.fingerprint,
                    value: bundle.app)
            ]
            if let group = bundle.group {
                requirements.append(Requirement(kind: Requirement.group, value: group))
            }
            releases.append(
                ChannelRelease(
                    .version(version), sequence: sequence, createdAt: 1,
                    rollout: bundle.perMille.map { Rollout(perMille: $0, salt: "") },
                    requirements: requirements, isMandatory: bundle.isMandatory,
                    facts: PublishedFacts(address: content)))
        }
        return ClientChannel(
            ChannelPointer(
                channel: .stable, sequence: Int64(bundles.count) + 1, createdAt: 1,
                releases: releases), history)
    }

    private static func told(
        _ channel: ClientChannel, _ strategy: Strategy, app: String = "1.0", current: Int,
        minimum: Int = 0, cohort: String? = nil
    ) throws -> String {
        func text(_ number: Int) -> String { number == 0 ? HotUpdaterCheck.builtIn : id(number) }
        var segments = [
            strategy == .appVersion ? "app-version" : "fingerprint", "ios", app, "production",
            text(minimum), text(current),
        ]
        if let cohort { segments.append(cohort) }
        let check = try require(HotUpdaterCheck(segments))
        func number(_ live: ClientChannel.Live) -> String {
            String(Int(live.offer.id?.suffix(12) ?? "") ?? -1)
        }
        return switch HotUpdaterDecision.decide(check, in: channel) {
        case .nothing: "-"
        case .update(let live): "+" + number(live)
        case .goBack(let live): "<" + number(live)
        case .goBackToBuiltIn: "<0"
        }
    }

    /// A rule: the bundles, newest first, who asks, and what is told.
    private struct Row {
        var rule: String
        var bundles: [Offered]
        var current: Int
        var minimum: Int
        var app: String
        var cohort: String?
        var told: String

        init(
            _ rule: String, _ bundles: [Offered], runs current: Int = 0, min minimum: Int = 0,
            app: String = "1.0", cohort: String? = nil, _ told: String
        ) {
            (self.rule, self.bundles, self.current) = (rule, bundles, current)
            (self.minimum, self.app, self.cohort, self.told) = (minimum, app, cohort, told)
        }
    }

    @Test func `Rules of both strategies`() throws {
        func on(_ id: Int, _ app: String = "1.0") -> Offered { Offered(id: id, app: app) }
        func off(_ id: Int) -> Offered { Offered(id: id, isDisabled: true) }
        let qa = Offered(id: 1, group: "qa-group")
        let rows = [
            Row("a bundle for the app", [on(1)], "+1"),
            Row("none for the app", [on(1, "1.1")], "-"),
            Row("the newest has another app", [on(2, "1.0.1"), on(1)], runs: 1, "-"),
            Row("the newest of two", [on(2), on(1)], "+2"),
            Row("the newest is disabled", [off(2), on(1)], "+1"),
            Row("all are disabled", [off(2), off(1)], "-"),
            Row("it runs the newest", [on(2), on(1)], runs: 2, "-"),
            Row("it runs the second", [on(3), on(2), on(1)], runs: 2, "+3"),
            Row("it skips some", [on(5), on(4), on(3), on(2), on(1)], runs: 2, "+5"),
            Row("the newest is disabled, it runs the next", [off(3), on(2), on(1)], runs: 2, "-"),
            Row("its own is disabled", [off(2), on(1)], runs: 2, "<1"),
            Row("its own is unknown", [on(1)], runs: 2, "<1"),
            Row("its own and all older are disabled", [off(2), off(1)], runs: 2, "<0"),
            Row("all that is offered is older than the app", [on(1)], runs: 2, min: 2, "-"),
            Row("one is newer than the app", [on(3), on(1)], runs: 2, min: 2, "+3"),
            Row(
                "its own is disabled, the other older than the app", [off(3), on(1)], runs: 3,
                min: 2, "<0"),
            Row("its own is unknown, the other older than the app", [on(1)], runs: 3, min: 2, "<0"),
            Row(
                "it runs the newest, another is older than the app", [on(3), on(1)], runs: 3,
                min: 2, "-"),
            Row("three are older than the app", [on(3), on(2), on(1)], runs: 5, min: 4, "<0"),
            Row(
                "back to what is newer than the app", [on(5), on(3), on(2), on(1)], runs: 6,
                min: 4, "<5"),
            Row("it runs the only one", [on(3)], runs: 3, min: 2, "-"),
            Row("the app is newer than what it runs", [on(1)], runs: 1, min: 2, "-"),
            Row(
                "nothing fits and it runs what it was built with", [on(3, "2")], runs: 2, min: 2,
                "-"),
            Row("a roll-out to nobody", [Offered(id: 1, perMille: 0)], cohort: "1", "-"),
            Row("a roll-out to all", [Offered(id: 1, perMille: 1000)], cohort: "1", "+1"),
            Row("no roll-out", [on(1)], cohort: "1", "+1"),
            Row("no cohort, no roll-out", [on(1)], "+1"),
            Row("no cohort, half", [Offered(id: 1, perMille: 500)], "-"),
            Row("a group takes part in no roll-out", [on(1)], cohort: "qa-group", "-"),
            Row("its group", [qa], cohort: "qa-group", "+1"),
            Row("a number of the group's", [Offered(id: 1, group: "qa,17")], cohort: "17", "+1"),
            Row(
                "the newer is for a group", [Offered(id: 2, group: "qa-group"), on(1)], cohort: "1",
                "+1"),
            Row(
                "its own is no longer for it", [Offered(id: 2, group: "qa"), on(1)], runs: 2,
                cohort: "1", "<1"),
            Row(
                "its own is no longer for it, and is alone", [Offered(id: 2, group: "qa")], runs: 2,
                cohort: "1", "<0"),
            Row("going back asks for no group", [qa], runs: 2, cohort: "other", "<1"),
            Row(
                "going back asks for no roll-out", [Offered(id: 1, perMille: 0)], runs: 2,
                cohort: "5", "<1"),
        ]
        var failures: [String] = []
        for strategy in Strategy.allCases {
            for row in rows {
                let told = try Self.told(
                    Self.channel(row.bundles, strategy), strategy, app: row.app,
                    current: row.current, minimum: row.minimum, cohort: row.cohort)
                if told != row.told {
                    failures.append("\(strategy): \(row.rule): \(told), not \(row.told)")
                }
            }
        }
        expect(failures, equals: [])
    }

    @Test func `Ranges of app versions, and apps whose version says more than numbers`() throws {
        let table: [(String, String, Bool)] = [
            ("*", "1.0", true), ("1.x.x", "1.0", true), ("1.0", "1.0", true), ("1.0", "1", true),
            ("1.0.0", "1.0", true), ("1.1", "1.0", false), (">= 5.7.0 <= 5.7.4", "5.7.3", true),
            (">= 5.7.0 <= 5.7.4", "5.7.5", false), ("^1.2", "v1.4 (33)", true),
            ("^1.2", "1.4-beta", true), ("*", "none", false), ("*", "", false),
            ("*", "1.0.0%20||%20*", true), ("2", "1.0.0 || 2", false),
        ]
        for (range, app, isFor) in table where !app.isEmpty {
            let channel = try Self.channel([Offered(id: 1, app: range)], .appVersion)
            let told = try Self.told(channel, .appVersion, app: app, current: 0)
            expect(told, equals: (isFor ? "+1" : "-"), "\(range) for \(app)")
        }
        // A release of one strategy is none of the other's.
        for strategy in Strategy.allCases {
            let other: Strategy = strategy == .appVersion ? .fingerprint : .appVersion
            let channel = try Self.channel([Offered(id: 1)], other)
            try expect(Self.told(channel, strategy, current: 0), equals: "-")
        }
    }

    @Test func `A channel that never offered anything takes nobody's bundle away`() throws {
        try expect(Self.told(Self.channel([], .appVersion), .appVersion, current: 7), equals: "-")
        let withdrawn = try Self.channel([Offered(id: 1, isDisabled: true)], .appVersion)
        try expect(Self.told(withdrawn, .appVersion, current: 7), equals: "<0")
    }

    @Test func `An older release offered again takes back what is newer`() throws {
        let channel = try Self.channel([1, 3, 2].map { Offered(id: $0) }, .appVersion)
        let wanted = [0: "+1", 1: "-", 2: "<1", 3: "<1", 4: "<1"]
        for (current, told) in wanted {
            try expect(Self.told(channel, .appVersion, current: current), equals: told)
        }
        // To a tenth only: the others keep what is newer.
        let part = [Offered(id: 1, perMille: 100), Offered(id: 3), Offered(id: 2)]
        let partly = try Self.channel(part, .appVersion)
        let places = (1...1000).map { HotUpdaterCohort.place(of: $0, in: Self.id(1)) }
        let inside = String(try require(places.firstIndex { $0 < 100 }) + 1)
        let outside = String(try require(places.firstIndex { $0 >= 100 }) + 1)
        try expect(Self.told(partly, .appVersion, current: 3, cohort: inside), equals: "<1")
        try expect(Self.told(partly, .appVersion, current: 3, cohort: outside), equals: "-")
        try expect(Self.told(partly, .appVersion, current: 0, cohort: outside), equals: "+3")
    }

    // MARK: All small channels

    /// hot-updater's rule, transcribed over numbers: which of the bundles are enabled for the device, then its steps.
    private func oracle(
        _ bundles: [Offered?], current: Int, minimum: Int, cohort: String?
    ) -> String {
        func isEligible(_ bundle: Offered) -> Bool {
            if let group = bundle.group { return group == cohort }
            if bundle.perMille == 0 { return false }
            return cohort == nil || Int(cohort ?? "") != nil
        }
        var enabled: [Offered] = []
        for (position, bundle) in bundles.enumerated() {
            guard let bundle else { break }
            if bundle.isDisabled { continue }
            var isTakenBack = false
            for above in bundles[..<position] {
                if let above, !above.isDisabled, isEligible(above), above.id < bundle.id {
                    isTakenBack = true
                }
            }
            if !isTakenBack, bundle.id >= minimum { enabled.append(bundle) }
        }
        var update: Offered?
        var back: Offered?
        var own: Offered?
        for bundle in enabled {
            if bundle.id == current {
                own = bundle
            } else if bundle.id > current {
                if isEligible(bundle), bundle.id > update?.id ?? 0 { update = bundle }
            } else if bundle.id > back?.id ?? 0 {
                back = bundle
            }
        }
        if let update { return "+\(update.id)" }
        if current == 0 { return "-" }
        if let own, isEligible(own) { return "-" }
        if let back { return "<\(back.id)" }
        return current <= minimum ? "-" : "<0"
    }

    @Test
    func `All channels of three bundles are decided as hot-updater's rule decides them`() throws {
        func kinds(_ id: Int) -> [Offered?] {
            [
                Offered(id: id), Offered(id: id, perMille: 0), Offered(id: id, group: "qa"),
                Offered(id: id, isDisabled: true),
            ]
        }
        let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]
        var channels: [[Offered?]] = []
        for order in orders {
            for first in kinds(order[0]) {
                for second in kinds(order[1]) + [nil] {
                    for third in kinds(order[2]) { channels.append([first, second, third]) }
                }
            }
        }
        var failures: [String] = []
        for bundles in channels {
            let channel = try Self.channel(bundles, .fingerprint)
            for current in 0...4 {
                for minimum in [0, 2] {
                    for cohort in [nil, "17", "qa"] {
                        let told = try Self.told(
                            channel, .fingerprint, current: current, minimum: minimum,
                            cohort: cohort)
                        let wanted = oracle(
                            bundles, current: current, minimum: minimum, cohort: cohort)
                        if told != wanted {
                            failures.append(
                                "\(bundles) \(current) \(minimum) \(cohort ?? ""): \(told), not \(wanted)"
                            )
                        }
                    }
                }
            }
        }
        expect(channels.count, equals: 480)
        expect(failures.prefix(3), equals: [])
    }
}
