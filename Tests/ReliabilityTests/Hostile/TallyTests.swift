import Expectations

/// The page on reliability says which test holds which hostile input: each of them is there.
@Suite("The tally of hostile inputs") struct TallyTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A test, or a case of one, that an item names.
    private struct Named {
        var suite: String
        var test: String
        /// What the item says of it behind its name: "only as root".
        var remark = ""
    }

    /// The items of the list: number, group, what holds it.
    private func rows() throws -> [(number: Int, tests: [Named])] {
        let page = try String(
            contentsOf: Self.root.appending(path: "docs/reliability.md"), encoding: .utf8)
        var rows: [(Int, [Named])] = []
        // A line that continues an item is indented by four.
        let lines = page.replacingOccurrences(of: "\n    ", with: " ").split(separator: "\n")
        for line in lines {
            let parts = line.split(separator: ": ", maxSplits: 1)
            guard parts.count == 2, let dot = parts[0].firstIndex(of: "."),
                let number = Int(parts[0][..<dot])
            else { continue }
            rows.append((number, Self.tests(in: String(parts[1]))))
        }
        return rows
    }

    /// A suite stands before its tests, which stand between backticks; remarks stand in parentheses.
    private static func tests(in text: String) -> [Named] {
        var suite = ""
        var tests: [Named] = []
        for match in text.matches(of: #/\(([^()]*)\)|`([^`]+)`|([A-Za-z.]+)/#) {
            if let name = match.3 {
                suite = String(name)
            } else if let test = match.2 {
                tests.append(Named(suite: suite, test: String(test)))
            } else if let remark = match.1, !tests.isEmpty {
                tests[tests.count - 1].remark = String(remark)
            }
        }
        return tests
    }

    @Test func `has every group, and each has a test or a reason`() throws {
        try expect(rows().map(\.number), equals: Array(1...68))
        try expect(rows().allSatisfy { !$0.tests.isEmpty })
    }

    @Test func `names tests that their suites have, and says which do not always run`() throws {
        let sources = try TestSources(Self.root.appending(path: "Tests"))
        expect(sources.suites.flatMap(\.tests).count > 1000)
        for row in try rows() {
            for named in row.tests {
                let suite = sources.suite(named.suite)
                guard let test = sources.test(named.test, of: suite) else {
                    Issue.record("\(row.number): \(named.suite) has no test \"\(named.test)\"")
                    continue
                }
                expect(
                    test.isConditional, equals: named.remark.hasPrefix("only "),
                    "\(row.number): \"\(named.test)\" \(test.isConditional ? "does not always run" : "always runs")"
                )
            }
        }
    }

    @Test func `reads suites and tests out of sources`() {
        let sources = TestSources(
            #"""
            @Suite("A reader", .enabled(if: isThere)) struct ReaderTests {
                @Test(arguments: ["a", "b)"])
                func `refuses (in words)`(_ text: String) {}
            }
            extension ReaderTests {
                @Test func `takes what is right`() {}
                @Test(.disabled(if: isRoot, "no \"root\"")) func third() {}
            }
            private let cases = ["a case"]
            """#, at: "SomeTests/Deep/ReaderTests.swift")
        expect(sources.suites.map(\.type), equals: ["ReaderTests", "ReaderTests"])
        expect(sources.suites[0].displayName, equals: "A reader")
        let suite = sources.suite("Deep.ReaderTests")
        expect(suite.count, equals: 2)
        expect(sources.suite("Other.ReaderTests").isEmpty)
        expect(sources.suite("Reader").isEmpty)
        let first = TestSources.Test(
            name: "refuses (in words)", isConditional: true, hasCases: true)
        expect(sources.test("refuses (in words)", of: suite), equals: first)
        expect(sources.test("a case", of: suite), equals: first)
        let second = sources.test("takes what is right", of: suite)
        expect(second?.isConditional == false && second?.hasCases == false)
        expect(sources.test("third", of: suite)?.isConditional, equals: true)
        expect(sources.test("refuses", of: suite) == nil)
        expect(sources.test("case", of: suite) == nil)
    }

    @Test func `finds cases in the file that is named like the type of their list`() {
        var sources = TestSources(
            """
            @Suite struct ReaderTests {
                @Test(arguments: ReaderCase.all)
                func `refuses`(_ one: ReaderCase) {}
            }
            """, at: "SomeTests/ReaderTests.swift")
        sources.add(
            #"struct ReaderCase { static let all = ["noise"] }"#, "Support/ReaderCase.swift")
        sources.add(
            #"struct OtherCase { static let all = ["silence"] }"#, "Support/OtherCase.swift")
        let suite = sources.suite("ReaderTests")
        expect(sources.test("noise", of: suite)?.name, equals: "refuses")
        expect(sources.test("silence", of: suite) == nil)
    }
}
