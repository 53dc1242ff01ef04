import ProgramTestSupport

/// A store that has something at nearly every path, an origin to pull from, and files outside that nobody may change.
final class StrangerGround {
    /// What stands in place of a path.
    enum Kind: String, CaseIterable {
        case directory, fullDirectory, danglingLink, linkToFile, linkToDirectory, linkToItself, fifo
        case socket, device
        /// What belongs there, with mode 000.
        case closed
        /// What belongs there, as another user's, closed to the store's owner.
        case foreign

        static let strangers = allCases.filter { ![.closed, .foreign].contains($0) }
    }

    struct Verb {
        let words: [String]
        var status: Int32 = 0
        var output = ""
    }

    let place = Workplace(inMemory: true)
    private(set) var verbs: [Verb] = []
    /// What programs find besides.
    var environment: [String: String] = [:]
    /// Who has the store and runs the verbs; `nil` for whoever runs the tests.
    let user: UInt32?

    init(user: UInt32? = nil) throws {
        self.user = user
        if let user { try place.give(to: user) }
        for version in 1...5 {
            try place.write(
                [
                    "index.html": "page \(version)", "js/app.js": "app \(version)",
                    "shared": "shared", "run.sh": "#!/bin/sh\n# \(version)\n",
                ], to: "r\(version)")
        }
        for words in [
            ["--store", "p", "add", "r4", "--version", "4"],
            ["--store", "p", "publish", "4", "o", "--no-packs"],
            ["add", "r1", "--version", "1", "--activate"], ["add", "r2", "--version", "2"],
            ["key", "new", "k"], ["pull", "o"],
            ["trust", "add", "k.pub", "--origin", "https://example.org/x"], ["fsck"],
        ] {
            try castree(words).ended()
        }
        let start = try castree(["boot", "--json"]).document(.boot)
        let confirmation = ["confirm", start.version.text, "--token", start.token.text]
        try expect(castree(confirmation).status, equals: 0)
        try place.write(
            [
                "channels.json": "{\"x stable\":1}", "server.json": "{\"ports\":{\"a\":23456}}",
                "device.json": "{\"device\":\"abababababababababababababababab\"}",
                "events.older.jsonl":
                    "{\"at\":1,\"event\":\"add\",\"sequence\":0,\"version\":\"1\"}\n",
            ], to: "s")
        if let user { try place.give(to: user) }
        try shell("mv s sound; chmod 755 .")
        for words in [
            ["status"], ["versions"], ["show", "1"], ["cat", "1:js/app.js"], ["du"], ["log"],
            ["report"], ["trust", "list"], ["missing", "1"],
            ["add", "r3", "--version", "3"], ["adopt", "r3", "--version", "3"],
            ["checkout", "1", "out"], ["activate", "2"], ["boot"],
            confirmation, ["rollback"], ["gc"], ["pull", "o"],
            ["publish", "1", "new", "--no-packs"], ["retire", "2"],
            ["trust", "add", "k.pub", "--origin", "https://example.org/y"], ["serve"],
        ] {
            try reset(to: "sound")
            var verb = Verb(words: words)
            let finished = try run(verb)
            (verb.status, verb.output) = (finished.status, shown(verb, finished))
            verbs.append(verb)
        }
    }

    var verbCount: Int { verbs.count }

    /// What is not as it must be with a stranger at a path; `nil` if it would be none, or cannot be made here.
    ///
    /// - Parameter turn: which of the verbs is run; all are if it is `nil`.
    func problems(of kind: Kind, at pattern: String, turn: Int? = nil) throws -> [String]? {
        var problems: [String] = []
        let verbs = turn.map { [self.verbs[$0 % verbCount]] } ?? self.verbs
        let path = try resolved(pattern)
        try reset(to: "sound")
        guard try put(kind, at: path) else { return nil }
        try shell("rm -rf strange; cp -a s strange")
        let outside = try files("outside")
        for verb in verbs {
            try reset(to: "strange")
            let finished = try run(verb)
            let name = "\(verb.words.joined(separator: " ")): \(finished.status)"
            if !Self.documented.contains(finished.status) {
                problems.append("\(name), \(finished.errors)")
            } else if finished.status != verb.status, finished.errors.isEmpty,
                finished.text.isEmpty
            {
                problems.append("\(name), without a word")
            }
            if try files("outside") != outside {
                problems.append("\(name), and wrote outside")
                try reset(to: "strange")
            }
        }
        try reset(to: "strange")
        let check = try castree(["fsck", "--json"])
        if !Self.isMadeAgain(path), !check.errors.contains(path), try !finds(check) {
            problems.append("fsck: \(check.status), \(check.text) \(check.errors)")
        }
        let isOurs = [.closed, .foreign].contains(kind)
        guard isOurs || !Self.isLost(path) else { return problems }
        if kind == .foreign {
            // Whatever the owner's own repair can do, it ends, and says so where it is not enough.
            let own = try castree(["fsck", "--repair"])
            let status = try castree(["fsck"]).status
            // Without FORMAT nobody can say that it is a store.
            let ends: [Int32] = path == "FORMAT" ? [8] : [0, 1, 4]
            if !ends.contains(own.status) || !(ends + [0, 4]).contains(status) {
                problems.append("the owner's repair: \(own.status), \(own.errors), fsck: \(status)")
            }
            try reset(to: "strange")
        }
        let repair = try castree(["fsck", "--repair"], byRoot: kind == .foreign)
        try shell("rm -rf repaired; cp -a s repaired")
        let again = try castree(["fsck"])
        if again.status != 0 {
            problems.append("repair: \(repair.status), fsck: \(again.status), \(again.text)")
        }
        for verb in verbs where isOurs || !Self.forgets(path, verb.words[0]) {
            try reset(to: "repaired")
            let finished = try run(verb)
            if finished.status != verb.status || shown(verb, finished) != verb.output {
                problems.append("repaired, \(verb.words): \(finished)")
            }
        }
        return problems
    }

    /// What a verb has shown of content.
    private func shown(_ verb: Verb, _ finished: Finished) -> String {
        switch verb.words[0] {
        case "cat": finished.text
        // What could not be checked out shows nothing.
        case "checkout":
            (try? files("out").map { "\($0.key) \($0.value)" }.sorted().description) ?? ""
        default: ""
        }
    }

    private func files(_ directory: String) throws -> [String: [UInt8]] {
        try Damage.files(below: "\(place.directory.path)/\(directory)")
    }

    /// Whether a check has found more than that the store is a copy.
    private func finds(_ check: Finished) throws -> Bool {
        guard !check.text.isEmpty else { return false }
        return try check.document(["findings": [["kind": "text"]]]).findings.contains {
            $0.kind != "damagedIndex"
        }
    }

    // MARK: Running

    static let documented: Set<Int32> = [0, 1, 2, 3, 20, 21, 22, 23, 24, 25]

    /// Runs a verb; one that does not end is ended, and its status says by which signal.
    func run(_ verb: Verb) throws -> Finished {
        guard verb.words == ["serve"] else { return try castree(verb.words) }
        let server = try Served(
            patiently + [
                ProgramUnderTest.castree.url.path, "--store", "s", "serve", "--next-port",
                "--app-id", Served.newApp(), "--wait", "3s",
            ], in: place.directory, environment: environment)
        if !server.url.isEmpty { _ = try? server.get() }
        return try server.end()
    }

    func castree(_ words: [String], byRoot: Bool = false) throws -> Finished {
        let store = words.first == "--store" ? [] : ["--store", "s"]
        let patiently = byRoot ? Self.timeLimit : patiently
        return try Running(
            URL(filePath: patiently[0]),
            patiently.dropFirst() + [ProgramUnderTest.castree.url.path] + store + words
                + (words[0] == "key" ? [] : ["--wait", "3s"]),
            in: place.directory, environment: environment
        ).finished()
    }

    /// timeout(1) ends with 124 if SIGTERM ended the program in the end, with 137 if only SIGKILL could.
    private var patiently: [String] {
        Self.timeLimit + (user.map(Workplace.words) ?? [])
    }

    private static let timeLimit = ["/usr/bin/timeout", "--foreground", "-k", "3", "20"]

    private func shell(_ script: String) throws {
        try place.shell(script).ended()
    }

    /// The store as it was, and all that verbs make and may not change.
    func reset(to name: String) throws {
        environment = [:]
        try shell(
            "chmod -R u+rwX s out 2>/dev/null; rm -rf s out new outside && cp -a \(name) s && "
                + "mkdir outside && echo mine > outside/file"
                + (user.map { "&& chown -R \($0) outside" } ?? ""))
    }
}
