import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// Which release a client of CodePush is told: the rules of its server, one by one, and all small histories at once.
@Suite struct CodePushDecisionTests {
    /// A release: its name, the range of app versions, whether it is mandatory, the share of the devices.
    private struct Release {
        var name: String
        var range: String?
        var isMandatory = false
        var perMille: Int?
        var isWithdrawn = false

        init(
            _ name: String, _ range: String? = nil, mandatory: Bool = false,
            _ perMille: Int? = nil, withdrawn: Bool = false
        ) {
            (self.name, self.range, isMandatory) = (name, range, mandatory)
            (self.perMille, isWithdrawn) = (perMille, withdrawn)
        }
    }

    /// What is asked, and what is told: a release or nothing.
    private struct Row {
        var rule: String
        var query: String
        var version: String
        var told: String

        init(_ rule: String, _ query: String, at version: String = "1.0.0", _ told: String) {
            (self.rule, self.query, self.version, self.told) = (rule, query, version, told)
        }
    }

    private func failures(_ releases: [Release], _ rows: [Row]) throws -> [String] {
        var model = CodePushModel()
        var offers: [String: ClientOffer] = [:]
        for release in releases {
            offers[release.name] = try model.publish(
                release.name, range: release.range, isMandatory: release.isMandatory,
                perMille: release.perMille)
        }
        for release in releases where release.isWithdrawn {
            model.origin.withdraw(try require(offers[release.name]))
        }
        var failures: [String] = []
        for row in rows {
            var query = row.query
            // `hash=A` stands for the hash of A.
            for (name, offer) in offers {
                query = query.replacing(
                    "hash=\(name)", with: "package_hash=\(offer.packageHash ?? "")")
            }
            let update = try require(
                try model.update(query.isEmpty ? "" : "&" + query, version: row.version))
            let told = Self.told(update)
            if told != row.told { failures.append("\(row.rule): \(told), not \(row.told)") }
        }
        return failures
    }

    /// `v3`, `v3!` if mandatory; else `-`, with `bin` if the app is to run its own, `>=2` for the range that another
    /// app would need, and `newer` if a newer one.
    private static func told(_ update: JSONValue) -> String {
        let range = update["target_binary_range"]?.asString ?? ""
        if update["is_available"]?.asBool == true {
            let mark = update["is_mandatory"]?.asBool == true ? "!" : ""
            return (update["label"]?.asString ?? "?") + mark + "@" + range
        }
        var words = ["-"]
        if update["should_run_binary_version"]?.asBool == true { words.append("bin") }
        if !range.isEmpty { words.append(range) }
        if update["update_app_version"]?.asBool == true { words.append("newer") }
        return words.joined(separator: " ")
    }

    @Test func `Three releases for one app version`() throws {
        let releases = [
            Release("A", "1.0.0"), Release("B", "1.0.0", mandatory: true), Release("C", "1.0.0"),
        ]
        let rows = [
            Row("who runs nothing from here has skipped the mandatory one", "", "v3!@1.0.0"),
            Row(
                "empty parameters are none", "package_hash=&label=&is_companion=&client_unique_id=",
                "v3!@1.0.0"),
            Row("an unknown hash has skipped it, too", "package_hash=00", "v3!@1.0.0"),
            Row("so has an unknown label", "label=v99", "v3!@1.0.0"),
            Row("by hash: from A", "hash=A", "v3!@1.0.0"),
            Row("by hash: from B it was not skipped", "hash=B", "v3@1.0.0"),
            Row("by label: from v1", "label=v1&hash=A", "v3!@1.0.0"),
            Row("by label: from v2", "label=v2&hash=B", "v3@1.0.0"),
            Row("the label counts, not the hash", "label=v2&hash=A", "v3@1.0.0"),
            Row("who has it is told nothing", "hash=C", "-"),
            Row("also under another label", "label=v1&hash=C", "-"),
            Row("1 is 1.0.0, and is repeated as it came", "hash=B", at: "1", "v3@1"),
            Row("1.0 is 1.0.0", "hash=B", at: "1.0", "v3@1.0"),
            Row("build metadata does not count", "hash=B", at: "1.0%2Bbuild", "v3@1.0+build"),
            Row(
                "a pre-release is in no range that names none", "", at: "1.0-pre",
                "- bin 1.0.0 newer"),
            Row("an older app must be replaced", "", at: "0.0.8", "- bin 1.0.0 newer"),
            Row("a newer app runs its own", "", at: "2.0.0", "- bin 1.0.0"),
            Row("a companion runs all, newer", "is_companion=true", at: "2.0.0", "v3!@2.0.0"),
            Row("a companion runs all, older", "is_companion=TRUE", at: "0.0.6", "v3!@0.0.6"),
            Row("who is no companion does not", "is_companion=false", at: "2.0.0", "- bin 1.0.0"),
        ]
        try expect(failures(releases, rows), equals: [])
    }

    @Test func `Each app version gets the newest release for it`() throws {
        let releases = [
            Release("A", "1.0.0"), Release("B", "1.0.0", mandatory: true), Release("C", "2.0.0"),
            Release("D", "1.0.0"), Release("E", "3.0.0", mandatory: true), Release("F", "2.0.0"),
            Release("G", "3.0.0"),
        ]
        let rows = [
            Row("1.0.0 fresh", "", "v4!@1.0.0"),
            Row("1.0.0 from A", "hash=A", "v4!@1.0.0"),
            Row("1.0.0 has D: the newest is for a newer app", "hash=D", "- 3.0.0 newer"),
            Row("2.0.0 from C", "hash=C", at: "2.0.0", "v6@2.0.0"),
            Row("3.0.0 from E", "hash=E", at: "3.0.0", "v7@3.0.0"),
            Row("3.0.0 fresh", "", at: "3.0.0", "v7!@3.0.0"),
            Row("3.0.0 has G", "hash=G", at: "3.0.0", "-"),
        ]
        try expect(failures(releases, rows), equals: [])
    }

    @Test func `Ranges of app versions`() throws {
        let releases = [
            Release("A", "*"), Release("B", "^1.0.0", mandatory: true),
            Release("C", ">=1.1.0 <1.2.0"),
        ]
        let rows = [
            Row("2.0.0 gets what is for all", "", at: "2.0.0", "v1@2.0.0"),
            Row("1.0.1", "", at: "1.0.1", "v2!@1.0.1"),
            Row("1.1.5 from A", "hash=A", at: "1.1.5", "v3!@1.1.5"),
            Row(
                "0.0.1 has A and is too old for C", "hash=A", at: "0.0.1", "- >=1.1.0 <1.2.0 newer"),
            Row("3.0.0 has A and is too new for C", "hash=A", at: "3.0.0", "- >=1.1.0 <1.2.0"),
        ]
        try expect(failures(releases, rows), equals: [])
    }

    @Test func `What is withdrawn does not count, but clients may run it`() throws {
        let releases = [
            Release("A", mandatory: true), Release("B"),
            Release("C", mandatory: true, withdrawn: true), Release("D", "2.0.0"),
        ]
        let rows = [
            Row("1.0.0 fresh: A was mandatory", "", "v2!@1.0.0"),
            Row(
                "2.0.0 from v1: C does not make D mandatory", "label=v1&hash=A", at: "2.0.0",
                "v4@2.0.0"),
            Row("1.0.0 on the withdrawn C goes back to B", "label=v3&hash=C", "v2@1.0.0"),
            Row("2.0.0 on the withdrawn C continues to D", "label=v3", at: "2.0.0", "v4@2.0.0"),
        ]
        try expect(failures(releases, rows), equals: [])
        let all = [Release("A", withdrawn: true)]
        try expect(failures(all, [Row("nothing is left", "hash=A", "- bin")]), equals: [])
    }

    @Test func `Roll-outs reach whom CodePush's rule chooses, and whole per cents of them`() throws
    {
        // client-1 with v1 is at 83, client-2 with v1 at 92.
        let rows = [
            Row("in", "client_unique_id=client-1", "v1@1.0.0"),
            Row("out", "client_unique_id=client-2", "- bin"),
            Row("nobody in particular", "", "- bin"),
        ]
        for perMille in [840, 845, 920, 929] {
            try expect(failures([Release("A", nil, perMille)], rows), equals: [])
        }
        let out = [Row("not yet", "client_unique_id=client-1", "- bin")]
        try expect(failures([Release("A", nil, 839)], out), equals: [])
        let older = [Release("A"), Release("B", mandatory: true, 0)]
        try expect(
            failures(
                older, [Row("an unfinished one is skipped whole", "client_unique_id=x", "v1@1.0.0")]
            ), equals: [])
    }

    // MARK: All small histories

    /// A release of an enumerated history.
    private struct Kind: Hashable {
        var range: String?
        var state: State
        enum State { case plain, mandatory, rolledOut, withdrawn }
    }

    /// CodePush's rule, transcribed: what counts is decided as if every roll-out were finished; if that would bring a
    /// release whose roll-out does not choose the client, once more without the unfinished ones.
    private func oracle(
        _ kinds: [Kind], version: String, running: Int?, isSelected: Bool
    ) -> String {
        let (told, release) = oracle(kinds, version: version, running: running) { _ in false }
        guard let release, kinds[release].state == .rolledOut, !isSelected else { return told }
        return oracle(kinds, version: version, running: running) { index in
            // Two unfinished ones at once, which its server does not have: what the client runs stays.
            kinds[index].state == .rolledOut && index != running
        }.told
    }

    /// A loop from the newest release down, over texts and flags.
    private func oracle(
        _ kinds: [Kind], version: String, running: Int?, skipping isSkipped: (Int) -> Bool
    ) -> (told: String, release: Int?) {
        var latest: Int?
        var fitting: Int?
        var becomesMandatory = false
        var isFound = false
        for index in kinds.indices.reversed() {
            if running == index { isFound = true }
            let kind = kinds[index]
            if kind.state == .withdrawn || isSkipped(index) { continue }
            if latest == nil { latest = index }
            if let range = kind.range, range != version { continue }
            if fitting == nil { fitting = index }
            if isFound { break }
            if kind.state == .mandatory {
                becomesMandatory = true
                break
            }
        }
        if let fitting, fitting != running {
            let isMandatory = becomesMandatory || kinds[fitting].state == .mandatory
            return ("v\(fitting + 1)" + (isMandatory ? "!" : ""), fitting)
        }
        var words = [fitting == nil ? "bin" : "-"]
        if let latest, let range = kinds[latest].range, range != version {
            words.append(range > version ? "newer than \(range)" : "older than \(range)")
        }
        return (words.joined(separator: " "), nil)
    }

    private func told(_ decision: CodePushDecision) -> String {
        switch decision {
        case .update(let live, let isMandatory):
            return (live.offer.label ?? "?") + (isMandatory ? "!" : "")
        case .nothing(let runsBinary, let range, let asksForNewerApp):
            var words = [runsBinary ? "bin" : "-"]
            if !range.isEmpty {
                words.append("\(asksForNewerApp ? "newer" : "older") than \(range)")
            }
            return words.joined(separator: " ")
        }
    }

    private func channel(_ kinds: [Kind]) throws -> ClientChannel {
        var history = ClientHistory(.codePush, .stable)
        var releases: [ChannelRelease] = []
        for (index, kind) in kinds.enumerated() {
            let sequence = Int64(index + 1)
            let content = try ObjectID(of: [UInt8(index)])
            let version = PublishedVersion(
                name: try VersionName("r\(index)"), manifest: content, manifestByteCount: 1,
                content: content)
            var offer = ClientOffer(
                sequence: sequence, target: .version(version, facts: content), createdAt: sequence,
                firstOfferedAt: sequence)
            offer.label = "v\(sequence)"
            offer.packageHash = "hash\(sequence)"
            history.offers.append(offer)
            if kind.state == .withdrawn { continue }
            let requirement = kind.range.map {
                Requirement(kind: Requirement.appVersionRange, value: $0)
            }
            releases.insert(
                ChannelRelease(
                    .version(version), sequence: sequence, createdAt: sequence,
                    rollout: kind.state == .rolledOut ? Rollout(perMille: 500, salt: "") : nil,
                    requirements: requirement.map { [$0] } ?? [],
                    isMandatory: kind.state == .mandatory,
                    facts: PublishedFacts(address: content)), at: 0)
        }
        let pointer = ChannelPointer(
            channel: .stable, sequence: Int64(kinds.count), createdAt: 1, releases: releases)
        return ClientChannel(pointer, history)
    }

    @Test
    func `All histories of three releases are decided as CodePush's rule decides them`() throws {
        var kinds: [Kind] = []
        for range in [nil, "1.0.0", "2.0.0"] {
            for state in [Kind.State.plain, .mandatory, .rolledOut, .withdrawn] {
                kinds.append(Kind(range: range, state: state))
            }
        }
        // A client that every label's half of the roll-out includes, and one that none does.
        let clients = (0..<1000).map { "c\($0)" }
        func client(_ isIn: Bool) -> String? {
            clients.first { client in
                (1...3).allSatisfy { (CodePushRollout.bucket(of: "\(client)-v\($0)") < 50) == isIn }
            }
        }
        let selected = try require(client(true))
        let unselected = try require(client(false))
        var failures: [String] = []
        var count = 0
        for first in kinds {
            for second in kinds {
                for third in kinds {
                    let history = [first, second, third]
                    let channel = try channel(history)
                    let isPartial = history.contains { $0.state == .rolledOut }
                    for version in ["1.0.0", "2.0.0"] {
                        for running in [nil, 0, 1, 2] {
                            for isSelected in isPartial ? [true, false] : [true] {
                                var values = [
                                    "deployment_key": "KEY", "app_version": version,
                                    "client_unique_id": isSelected ? selected : unselected,
                                ]
                                values["package_hash"] = running.map { "hash\($0 + 1)" }
                                values["label"] =
                                    count % 2 == 0 ? running.map { "v\($0 + 1)" } : nil
                                count += 1
                                let told = told(.decide(try CodePushCheck(values), in: channel))
                                let wanted = oracle(
                                    history, version: version, running: running,
                                    isSelected: isSelected)
                                if told != wanted {
                                    failures.append("\(history) \(values): \(told), not \(wanted)")
                                }
                            }
                        }
                    }
                }
            }
        }
        expect(count, equals: 21_816)
        expect(failures.prefix(3), equals: [])
    }

    // MARK: Going back

    @Test func `Back to what was shipped: clients are told to run it, and of nothing else`() throws
    {
        var model = CodePushModel()
        let first = try model.publish("40", isMandatory: true)
        try model.publishEmbedded()
        let wanted = "- bin"
        for query in ["", first.query] {
            expect(Self.told(try require(try model.update(query))), equals: wanted)
        }
        try model.publish("41")
        expect(Self.told(try require(try model.update())), equals: "v3!@1.0.0")
    }
}
