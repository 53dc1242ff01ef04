import ProgramTestSupport

/// What holds for every command.
@Suite struct CommandLineTests {
    let place: Workplace

    init() throws { place = Workplace() }

    /// Every command of the contract that is there, with arguments that it takes.
    static let commands: [[String]] = [
        ["versions"], ["show", "1"], ["diff", "1", "2"], ["missing", "1"], ["cat", "1:a"],
        ["checkout", "1", "target"], ["activate", "1"], ["lifecycle"], ["boot"],
        ["confirm", "1", "--token", "t"], ["rollback"], ["forgive", "1"], ["retire", "1"],
        ["gc"], ["gc", "--dry-run"], ["du"], ["report"], ["status"], ["log"], ["ls"],
        ["list", "1"], ["rm", "1"], ["use", "1"],
    ]

    @Test func `the README lists the exit statuses that help lists`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let list = try require(readme.firstRange(of: "Exit codes are"))
        let codes = String(readme[list.upperBound...].prefix { $0 != "." })
        let pulls = try require(codes.firstRange(of: "`pull` adds"))
        func numbers(_ text: Substring) -> Set<Int> {
            Set(text.split { !$0.isNumber }.compactMap { Int($0) })
        }
        func helped(_ words: String...) throws -> Set<Int> {
            let text = try place.run(.castree, words + ["--help"]).text
            let lines = text.split(separator: "\n").drop { $0 != "Exit status:" }.dropFirst()
                .prefix { $0.hasPrefix("  ") }
            let statuses = lines.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
            expect(statuses, equals: statuses.sorted())
            return Set(statuses)
        }
        try expect(numbers(codes[..<pulls.lowerBound]), equals: helped())
        try expect(numbers(codes[...]), equals: helped("pull"))
    }

    @Test(
        arguments: Set(commands.map { $0[0] }).sorted() + [
            "init", "add", "fsck", "completions", "publish", "withdraw", "prune", "pull",
            "channels",
        ])
    func `every command has help with an example`(_ command: String) throws {
        let help = try place.done(command, "--help")
        expect(help.text.hasPrefix("Usage: castree \(command)"))
        expect(help.text.contains("\n    "))
        try expect(place.castree("help", command).text, equals: help.text)
    }

    @Test func `the store is --store, else the variable, else .castree`() throws {
        try place.write(["a": "a"], to: "release")
        let variable = ["CASTREE_STORE": "by-variable"]
        let add = ["add", "release", "--version", "1", "--no-sync"]
        try expect(place.run(.castree, add).status, equals: 0)
        try expect(place.run(.castree, add, environment: variable).status, equals: 0)
        let option = ["--store", "by-option"]
        try expect(place.run(.castree, option + add, environment: variable).status, equals: 0)
        for store in [".castree", "by-variable", "by-option"] {
            expect(place.exists("\(store)/FORMAT"))
        }
        try expect(
            place.castree("versions", "--json", environment: ["CASTREE_STORE": ""]).status,
            equals: 0)
    }

    @Test(arguments: [
        (["ls"], ["versions"]), (["list"], ["versions"]), (["ls", "1"], ["show", "1"]),
        (["list", "1"], ["show", "1"]), (["use", "2"], ["activate", "2"]),
        (["rm", "1"], ["retire", "1"]), (["rm", "3"], ["retire", "3"]),
    ])
    func `a synonym does what its command does`(_ words: [String], _ meant: [String]) throws {
        var answers: [Finished] = []
        for command in [words, meant] {
            let place = try Workplace(adding: "1", ["a": "a"])
            try place.add("2", ["a": "b"])
            answers.append(try place.run(.castree, command + ["--json"]))
        }
        expect(answers[0].status, equals: answers[1].status)
        expect(answers[0].errors, equals: answers[1].errors)
        func withoutTimes(_ text: String) -> String {
            text.replacing(/"createdAt":"[^"]*"/, with: "").replacing(
                /"manifest":"[^"]*"/, with: "")
        }
        expect(withoutTimes(answers[0].text), equals: withoutTimes(answers[1].text))
    }

    @Test func `a line of help and a completion lead to each synonym`() throws {
        let help = try place.castree("--help").text.split(separator: "\n")
        let completions = try place.castree("__complete", "zsh", "").text
        for word in ["ls", "list", "rm", "use"] {
            expect(help.contains { $0.hasPrefix("  \(word) ") && $0.contains("the same as") })
            expect(completions.contains("\n\(word)\tthe same as"))
        }
    }

    @Test(arguments: [
        (["vershions"], "versions"), (["versions", "--jsno"], "--json"),
        (["gc", "--dryrun"], "--dry-run"), (["checkout", "1", "t", "--mode", "reflnk"], "reflink"),
    ])
    func `a typing error is status 2 and suggests the nearest word`(
        _ arguments: [String], _ suggestion: String
    ) throws {
        try place.ended(2, words: arguments, saying: "did you mean '\(suggestion)'?")
    }

    @Test(arguments: [
        [], ["show"], ["diff", "1"], ["add", "x"], ["confirm", "1"], ["versions", "surplus"],
        ["du", "--largest", "many"], ["gc", "--dry-run=yes"],
    ])
    func `a wrong command line is status 2, in JSON too`(_ arguments: [String]) throws {
        try expect(place.run(.castree, arguments).status, equals: 2)
        let refused = try place.ended(2, words: arguments + ["--json"])
        expect(refused.output.isEmpty)
        try expect(refused.error().code, equals: "usage")
    }

    @Test func `the version is printed`() throws {
        try expect(place.castree("--version").text, equals: "castree 0.1.0\n")
        try expect(place.checker("--version").text, equals: "castree-fsck 0.1.0\n")
    }

    @Test func `nothing is coloured when nobody looks`() throws {
        try place.add("1", ["a": "a"], "--activate")
        for arguments in [["versions"], ["diff", "1", "1"], ["fsck"], ["lifecycle"]] {
            try expect(!place.run(.castree, arguments).text.contains("\u{1B}"))
        }
    }

    /// script(1) of util-linux, which runs a program on a terminal.
    private static let terminal = "/usr/bin/script"

    @Test(
        .enabled(if: access(terminal, X_OK) == 0, "needs script(1), of util-linux"),
        arguments: [
            ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false),
            (["NO_COLOR": "0"], false),
            (["TERM": "dumb"], false),
        ])
    func `state has colour on a terminal that wants it`(
        _ environment: [String: String], _ isColoured: Bool
    ) throws {
        try place.add("1", ["a": "a"], "--activate")
        for command in [["status"], ["versions"], ["fsck"]] {
            let words = [ProgramUnderTest.castree.url.path] + command
            let shown = try Running(
                URL(filePath: Self.terminal), ["-qec", words.joined(separator: " "), "/dev/null"],
                in: place.directory, environment: ["TERM": "xterm"].merging(environment) { $1 }
            ).finished().ended()
            let text = shown.text
            expect(!text.isEmpty)
            // A slow disk shows progress, which erases its line: that is no colour.
            expect(text.contains(/\u{1B}\[[0-9;]*m/), equals: isColoured, "\(command): \(text)")
        }
    }

    @Test func `names cannot command the terminal`() throws {
        try place.add("1", ["a\u{1B}[2Jb": "a"])
        let shown = try place.castree("show", "1")
        expect(!shown.text.contains("\u{1B}"))
        expect(shown.text.contains("a\\u{1B}[2Jb"))
    }

    @Test func `output that cannot be written is status 1`() throws {
        try require(FileManager.default.fileExists(atPath: "/dev/full"))
        try place.add("1", ["a": "a"])
        let full = Pipe()
        let descriptor = open("/dev/full", O_WRONLY)
        dup2(descriptor, full.fileHandleForWriting.fileDescriptor)
        close(descriptor)
        let running = try Running(.castree, ["versions"], in: place.directory, output: full)
        expect(
            try running.finished().ended(1).errors,
            equals: "castree: unable to write to standard output: No space left on device; "
                + "whatever the command has changed stays\n")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `completions are printed for a shell`(_ shell: String) throws {
        try expect(place.done("completions", shell).text.contains("castree"))
        try expect(place.castree("completions", "dos").status, equals: 2)
    }

    @Test(arguments: [
        ("serve --switch", "now next-navigation next-start background:"),
        ("pull --switch", "now next-start"), ("pull --format", "auto castree meteor 8fit"),
        ("serve --fallback", "navigations none meteor"), ("checkout --mode", "link reflink copy"),
        (
            "serve --app",
            "version= compatibility= runtimeVersion= nativeInterface= fingerprint= group="
        ),
    ])
    func `every shell completes the words that an option takes`(_ line: String, _ words: String)
        throws
    {
        for shell in ["bash", "zsh", "fish"] {
            let arguments =
                ["__complete", shell] + line.split(separator: " ").map(String.init) + [""]
            let found = try place.run(.castree, arguments).text
            let offered = found.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
            expect(offered, equals: words.split(separator: " ").map(String.init), "\(shell)")
        }
    }

    @Test("kinds of requirements and options of a pull are completed as they are refused")
    func completedOptions() throws {
        let kinds = try place.castree("__complete", "zsh", "publish", "--require", "").text
        for kind in ["compatibility=\t", "minimumAppVersion=\t", "group=\t"] {
            expect(kinds.contains(kind))
        }
        for word in kinds.split(separator: "\n").map({ $0.prefix { $0 != "=" } }) {
            let refused = try place.castree("publish", "1", "origin", "--require", "\(word)=")
            expect(refused.errors.contains("\(word) needs a value"))
        }
        let options = try place.castree("__complete", "zsh", "serve", "--pull-option", "").text
        expect(options.contains("--cacert=\t") && options.contains("--no-packs\t"))
        expect(!options.contains("--activate") && !options.contains("--channel"))
    }

    @Test func `help says how every time is written, and so does a refusal`() throws {
        let words = "ms, s, m, h, d, w"
        for command in ["serve", "pull", "gc", "prune", "versions"] {
            let help = try place.castree(command, "--help").text
            expect(help.contains("TIME is one or more numbers with units (\(words))"), "\(command)")
        }
        // Where no part of a second is taken, none is named.
        for (arguments, words) in [
            (["checkout", "1", "x", "--wait", "soon"], words),
            (["versions", "--wait", "1"], words),
            (["gc", "--older-than", "1y"], "s, m, h, d, w"),
            (["gc", "--older-than", "500ms"], "s, m, h, d, w"),
            (["log", "--since", "then"], "s, m, h, d, w"),
        ] {
            try expect(
                place.run(.castree, arguments).errors.contains("(units \(words))"),
                "\(arguments)")
        }
    }

    @Test func `versions are completed from the store`() throws {
        try place.add("2025.1", ["a": "a"])
        try expect(place.castree("__complete", "bash", "show", "20").text.contains("2025.1"))
        let nowhere = try place.done("__complete", "bash", "--store", "nowhere", "show", "")
        expect(nowhere.errors.isEmpty)
    }

    @Test func `files of versions are completed level by level`() throws {
        try place.add(
            "2025.1", ["css/site.css": "a", "css/img/a.png": "b", "css.txt": "c", "a b/c d": "d"])
        func offered(_ word: String) throws -> [String] {
            try place.castree("__complete", "zsh", "cat", word).text.split(separator: "\n").map {
                String($0.dropLast())
            }
        }
        try expect(offered("20"), equals: ["2025.1:"])
        try expect(
            offered("2025.1:").sorted(), equals: ["2025.1:a b/", "2025.1:css.txt", "2025.1:css/"])
        try expect(offered("2025.1:css/"), equals: ["2025.1:css/img/", "2025.1:css/site.css"])
        try expect(offered("2025.1:a b/c"), equals: ["2025.1:a b/c d"])
        try expect(offered("2025.1:nothing").isEmpty && offered("2024:").isEmpty)
        // bash splits words at colons.
        let bash = try place.castree("__complete", "bash", "cat", "2025.1", ":", "css/i").text
        expect(bash, equals: "css/img/\t\n")
    }

    @Test func `an interrupted add leaves a sound store and can be repeated`() throws {
        var content = ""
        for number in 0..<400_000 { content += "line \(number)\n" }
        var files: [String: String] = [:]
        for number in 0..<40 { files["file-\(number)"] = "\(number)\n" + content }
        try place.write(files, to: "release")
        let add = ["add", "release", "--version", "1", "--json"]
        for milliseconds in [5, 20, 60] {
            let running = try Running(.castree, add, in: place.directory)
            Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
            running.signal(SIGINT)
            let finished = try running.finished()
            // Before its handlers are installed the signal ends it; after its work nothing does.
            expect([130, 0, -SIGINT].contains(finished.status))
            if finished.status == 130 {
                try expect(finished.error().code, equals: "interrupted")
                expect(finished.output.isEmpty)
            }
        }
        try expect(place.run(.castree, add).status, equals: 0)
        try place.done("fsck", "--deep")
    }
}
