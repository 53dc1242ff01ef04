import ProgramTestSupport

/// Patterns, held against what git makes of them.
@Suite("A pattern of .castreeignore") struct IgnorePatternTests {
    /// Files that exist; each directory above them is asked about, too.
    static let paths =
        [
            "a", "b", "ab", "abc", "a.js", "a.js.map", "b.map", "a/b", "a/b/c", "a/b/c/d", "a/bc/d",
            "b/a", "b/a/c", "x/a/b",
            "x/y/a/b", "x/y/z/a", "x/y/a.js", "x/y/keep.js", "x/keep.js", "keep.js", "docs/a.txt",
            "docs/b/a.txt",
            "docs/b/c/a.txt", "build/out", "src/build/out", "src/build.js", "foo/bar", "foo/x/bar",
            "foo/x/y/bar", "foobar",
            "foox/bar", "foo/barx", "#hash", "!bang", "sp ace", "trail ", "back", "star*", "st[ar",
            "a-b", "a]b", "A", "Ab", "7",
            "a7", "z9/q", "ü", "größe.txt", "q?", "tab\tin", "-", "^", "x/^y", "dir.d/file",
            "dir.d/sub/file", "deep/a/a/a/b",
        ].filter { path in
            // A file is no directory.
            !["a/", "b/"].contains { path.hasPrefix($0) }
        } + ["n/a/b/c", "n/a/bc/d", "n/b/a/c"]

    /// Each is a whole file.
    static let files: [String] =
        [
            "a", "/a", "a/", "/a/", "*", "/*", "**", "/**", "**/", "*/", "!a", "a\n!a", "*\n!a",
            "*\n!*/\n!*.js", "/*\n!/x",
            "a*", "*a", "*.js", "*.map", "*.js\n!keep.js", "x/\n!x/keep.js", "x/*\n!x/keep.js",
            "x/**\n!x/y/\n!x/y/keep.js",
            "x/**\n!x/**/\n!keep.js", "?", "??", "a?", "/?", "x/?", "?/a", "a.??", "\u{fc}",
            "??\n!ab", "*\u{fc}*", "gr*e.txt",
            "docs/*.txt", "docs/**/*.txt", "docs/**/a.txt", "docs/**", "docs/*", "docs/*/a.txt",
            "docs/*/*/a.txt", "**/a.txt",
            "**/b/a.txt", "**/b/**", "**/docs", "/docs", "docs", "build", "build/", "/build",
            "src/build", "src/build/",
            "foo/bar", "/foo/bar", "foo/**/bar", "foo*/bar", "foo/**/**/bar",
            "foo/*/bar", "foo/***/bar", "**foo",
            "**bar", "foo**", "foo/bar*", "**/foo", "**/foo/bar", "foo/**/", "foo/**/x",
            "**/x/**/bar", "*/**", "*/**/*",
            "**/*/a", "**/**/a", "n/**/a", "n/**/b", "n/**", "n/*/a", "deep/**/a/b",
            "deep/**/a/**/b", "deep/*/a/**/b",
            "deep/**a/b", "deep/**/*a/b",
            "#hash", "\\#hash", "!bang", "\\!bang", "!!bang\n", "*\n!!bang", "sp ace", "sp\\ ace",
            "trail ", "trail\\ ",
            "trail\\  ", "trail", "trail*", "  a", "a  ", "a \\", "a\\", "\\a", "\\\\a", "a\\b",
            "star*", "star\\*", "st\\[ar",
            "st[[]ar", "st[ar", "st[ar]", "q\\?", "q?", "tab\\\tin", "tab?in", "a\r", "a\r\nb\r\n",
            "\r\n", "\n\n#\n \n",
            "\u{FEFF}a", "a\n\u{FEFF}b",
            "[a]", "[ab]", "[ab][bc]", "[a-c]", "[!a]", "[^a]", "[!a]*", "[a-cx]*", "[-a]", "[a-]",
            "[]a]", "a[]]b", "a[!]]b",
            "a[]-]b", "[\\]]", "a[\\]]b", "a[\\-]b", "[--.]", "[+--]", "[c-a]", "[\\a-c]",
            "[a\\-c]", "[a-\\c]", "[^]", "[!]",
            "[]", "[^^]", "x/[^a]*", "x/[!y]*", "x[/]a", "x[^a]a", "x[^q]y", "x[.-0]y",
            "[[:digit:]]", "[[:alpha:]]",
            "[[:upper:]]*", "[[:lower:]]", "[[:alnum:]]", "*[[:digit:]]", "*[[:space:]]*",
            "*[[:blank:]]*", "[[:punct:]]*",
            "[[:xdigit:]]", "[[:xdigit:]]*", "[[:cntrl:]]*", "*[[:cntrl:]]*", "[[:graph:]]",
            "[[:print:]]", "[[:nothing:]]",
            "[[:digit:]", "[[:digit]", "[[:digit:][:upper:]]*", "[a[:digit:]]*", "[[:alpha:]-z]",
            "[:digit:]", "[[:]", "[[::]]",
            "[![:alpha:]]", "[!a-z]*", "*[!a-z]",
            "/", "//", "//a", "a//", "a//b", "!", "!/", "\\", "\\/", "a\\/", "x\\/y", "**\\/a",
            "**\\/b", "***", "****/a", "/**/a",
            "/*/a", "/*/*", "/*/*/", "*/*/*", "*/*/*/*", "x/y/", "x/y/*", "!x\n", "x\n!x/y",
            "x\n!x/y/a.js", "x/*\n!x/y",
            "*.js\n!x/\n!x/*.js", "*\n!*/\n!x/y/keep.js", "*\n!/x/\n!/x/y/\n/x/y/*\n!/x/y/keep.js",
            "dir.d", "dir.d/", "dir.?",
            "dir[.]d/", "*.d", "*.d/", "*.d/*", "*.d/sub", "*.d/**/file", "a*b", "a*b*c", "*a*b*",
            "*b*a*", "x/*/a/b",
            "x/**/b", "x/**b", "x/y/**/b", "x/y/*/b",
        ]

    /// What git leaves out of files and directories, by each set of `.gitignore` files: directory to lines.
    private func leftOutByGit(
        _ place: Workplace, _ sets: [[String: String]], _ paths: [String]
    ) throws -> [Set<String>] {
        let lists = place.directory.appending(path: ".lists")
        try FileManager.default.createDirectory(at: lists, withIntermediateDirectories: true)
        try Data(paths.joined(separator: "\0").utf8 + [0]).write(to: lists.appending(path: "asked"))
        var script = ""
        for (number, files) in sets.enumerated() {
            for (step, (directory, lines)) in files.enumerated() {
                try Data(lines.utf8).write(to: lists.appending(path: "\(number).\(step)"))
                script += "cp .lists/\(number).\(step) '\(directory)/.gitignore'\n"
            }
            script +=
                "git -c core.excludesFile=/dev/null check-ignore --no-index -z --stdin < .lists/asked > .lists/\(number)\n"
        }
        let done = try Running(
            .shell, ["-c", script + "test $? -le 1"], in: place.directory,
            environment: [
                "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent",
                "GIT_CONFIG_NOSYSTEM": "1",
            ]
        ).finished()
        try require(done.status == 0 && done.errors.isEmpty, "\(done.errors)")
        return try sets.indices.map { number in
            let found = try Data(contentsOf: lists.appending(path: "\(number)"))
            return Set(found.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
        }
    }

    private func leftOut(
        _ patterns: String, _ paths: [String], directories: Set<String>,
        inner: [String: String] = [:]
    ) throws -> Set<String> {
        func rules(above path: String) throws -> SourceRules {
            var rules = try SourceRules()
            rules.obey(Array(patterns.utf8), in: [])
            for (directory, lines) in inner.sorted(by: { $0.key < $1.key })
            where path.hasPrefix(directory + "/") {
                rules.obey(Array(lines.utf8), in: Array(directory.utf8))
            }
            return rules
        }
        func isLeftOut(_ path: String) throws -> Bool {
            if let slash = path.lastIndex(of: "/"), try isLeftOut(String(path[..<slash])) {
                return true
            }
            let rules = try rules(above: path)
            return Array(path.utf8).withUnsafeBufferPointer {
                rules.verdict(on: $0, isDirectory: directories.contains(path)) == .leftOut
            }
        }
        return Set(try paths.filter(isLeftOut))
    }

    /// Makes a repository of files; all paths in it, and those that are directories.
    private func repository(
        _ files: [String]
    ) throws -> (place: Workplace, paths: [String], directories: Set<String>) {
        let place = Workplace(inMemory: true)
        var directories: Set<String> = []
        for path in files {
            var above = path
            while let slash = above.lastIndex(of: "/") {
                above = String(above[..<slash])
                directories.insert(above)
            }
        }
        try place.write(Dictionary(uniqueKeysWithValues: files.map { ($0, "") }), to: "")
        let made = try Running(
            .shell, ["-c", "git init -q ."], in: place.directory,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent"]
        ).finished()
        try require(made.status == 0, "\(made.errors)")
        return (place, files + directories.sorted(), directories)
    }

    @Test(.enabled(if: hasGit, "git is not installed"))
    func `leaves out what git leaves out, of every path`() throws {
        let (place, paths, directories) = try repository(Self.paths)
        let all = try leftOutByGit(place, Self.files.map { [".": $0] }, paths)
        for (patterns, theirs) in zip(Self.files, all) {
            let own = try leftOut(patterns, paths, directories: directories)
            expect(own.subtracting(theirs), equals: [], "more, \(patterns.debugDescription)")
            expect(theirs.subtracting(own), equals: [], "less, \(patterns.debugDescription)")
        }
        // Here git 2.39 leaves out more than gitignore(5) says, which makes regular asterisks of these.
        for (odd, regular) in [("foo**/bar", "foo*/bar"), ("deep/a**/b", "deep/a*/b")] {
            try expect(
                leftOut(odd, paths, directories: directories),
                equals: leftOut(regular, paths, directories: directories))
        }
    }

    @Test(.enabled(if: hasGit, "git is not installed"))
    func `leaves out what git leaves out, in files above each other`() throws {
        let (place, paths, directories) = try repository([
            "a", "b.js", "x/a", "x/b.js", "x/y/a", "x/y/b.js", "x/y/z/a", "x/y/z/b.js", "x/w/a",
            "xy/a", "x.d/x/a",
        ])
        let choices = [
            "a", "!a", "/a", "*.js", "!*.js\n/y/a", "y/", "!y", "*", "!*", "/*\n!z", "y/**/a",
            "**/z/*",
        ]
        var sets: [[String: String]] = []
        for (number, root) in choices.enumerated() {
            for (step, middle) in choices.enumerated() {
                let deep = choices[(number * 5 + step * 7) % choices.count]
                sets.append([".": root, "x": middle, "x/y": deep])
            }
        }
        for (set, theirs) in zip(sets, try leftOutByGit(place, sets, paths)) {
            var inner = set
            let root = inner.removeValue(forKey: ".") ?? ""
            let own = try leftOut(root, paths, directories: directories, inner: inner)
            expect(own, equals: theirs, "\(set)")
        }
    }

    static let hasGit = ["/usr/bin/git", "/usr/local/bin/git", "/bin/git"].contains {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}
