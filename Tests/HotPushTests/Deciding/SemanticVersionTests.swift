import Expectations
import HotPush

@Suite("A semantic version") struct SemanticVersionTests {
    // semver.org, section 11, and the list of its FAQ.
    @Test func `has its place in the order of semver.org`() throws {
        let texts = [
            "0.0.0-0", "0.0.0", "0.0.4", "0.9.0", "1.0.0-0A.is.legal", "1.0.0-alpha",
            "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
            "1.0.0-beta.99999999999999999999999", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0",
            "2.0.0", "2.1.0", "2.1.1", "18446744073709551615.0.0",
        ]
        let versions = try texts.map { try require(SemanticVersion($0)) }
        for (left, first) in versions.enumerated() {
            for (right, second) in versions.enumerated() {
                expect((first < second), equals: (left < right), "\(first) and \(second)")
                expect((first == second), equals: (left == right))
            }
        }
        expect(versions.map(\.description), equals: texts)
    }

    @Test func `has the place of the same version with another build`() throws {
        for text in ["1.0.0+20130313144700", "1.0.0+21AF26D3---117B344092BD", "1.0.0+0.00.1"] {
            expect(SemanticVersion(text), equals: SemanticVersion("1.0.0"))
        }
        expect(SemanticVersion("1.0.0-a-b.c+x"), equals: SemanticVersion("1.0.0-a-b.c"))
    }

    @Test(arguments: [
        "", "1", "1.2", "1.2.3.4", "01.1.1", "1.01.1", "1.1.01", "1.2.3-", "1.2.3-01",
        "1.2.3-a..b", "1.2.3+", "1.2.3-a+", "1.2.3+a+b", "v1.2.3", " 1.2.3", "1.2.3 ", "-1.2.3",
        "1.2.x", "1.2.3-ä", "1.2.3-\u{0}", "a.b.c", "1..3", ".1.2", "+1.2.3", "１.2.3",
        "18446744073709551616.0.0", "1.2.3\n", "1.2.3-beta$",
    ])
    func `is nothing else`(text: String) {
        expect(SemanticVersion(text) == nil)
    }

    @Test(
        "may be spelled as app stores do, where that is asked for",
        arguments: [
            ("1", "1.0.0"), ("1.2", "1.2.0"), ("1.2.3", "1.2.3"), ("1.2.3-b", "1.2.3-b"),
            ("7+5", "7.0.0"),
        ])
    func padded(text: String, expected: String) {
        expect(SemanticVersion(text, padding: true)?.description, equals: expected)
    }

    @Test(arguments: ["", "1.", "1.2-b", "1.2.3.4", "01", "1-b", "x"])
    func `is not padded otherwise`(text: String) {
        expect(SemanticVersion(text, padding: true) == nil)
    }
}

@Suite("A range of versions") struct VersionRangeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var range: String
        var inside: [String]
        var outside: [String]
        var testDescription: String { range }

        init(_ range: String, _ inside: [String], not outside: [String]) {
            self.range = range
            self.inside = inside
            self.outside = outside
        }
    }

    // github.com/npm/node-semver, README: "Ranges" and "Advanced Range Syntax".
    static let cases: [Case] = [
        Case("1.2.3", ["1.2.3"], not: ["1.2.4", "1.2.2", "1.2.3-beta"]),
        Case("=1.2.3", ["1.2.3"], not: ["1.2.4"]),
        Case("v1.2.3", ["1.2.3"], not: ["1.2.4"]),
        Case("1.2.3+build", ["1.2.3"], not: ["1.2.4"]),
        Case("*", ["0.0.0", "9.9.9"], not: ["1.0.0-beta"]),
        Case("", ["0.0.0", "9.9.9"], not: ["1.0.0-beta"]),
        Case("x", ["0.0.0", "9.9.9"], not: []),
        Case("1", ["1.0.0", "1.9.9"], not: ["0.9.9", "2.0.0", "2.0.0-0"]),
        Case("1.x", ["1.0.0", "1.9.9"], not: ["0.9.9", "2.0.0"]),
        Case("1.2", ["1.2.0", "1.2.9"], not: ["1.3.0", "1.1.9"]),
        Case("1.2.x", ["1.2.0", "1.2.9"], not: ["1.3.0", "1.3.0-0"]),
        Case("1.2.*", ["1.2.0", "1.2.9"], not: ["1.3.0"]),
        Case(">=1.2.7", ["1.2.7", "1.2.8", "2.5.3", "1.3.9"], not: ["1.2.6", "1.1.0"]),
        Case(">=1.2.7 <1.3.0", ["1.2.7", "1.2.8", "1.2.99"], not: ["1.2.6", "1.3.0", "1.1.0"]),
        Case("1.2.7 || >=1.2.9 <2.0.0", ["1.2.7", "1.2.9", "1.4.6"], not: ["1.2.8", "2.0.0"]),
        Case("1.2.7||1.2.9", ["1.2.7", "1.2.9"], not: ["1.2.8"]),
        Case(
            ">1.2.3-alpha.3", ["1.2.3-alpha.7", "3.4.5"], not: ["3.4.5-alpha.9", "1.2.3-alpha.3"]),
        Case("> 1.2", ["1.3.0"], not: ["1.2.9", "1.3.0-beta"]),
        Case(">1", ["2.0.0"], not: ["1.9.9"]),
        Case("<1.2", ["1.1.9"], not: ["1.2.0", "1.2.0-beta"]),
        Case("<=1.2", ["1.2.9"], not: ["1.3.0"]),
        Case("<=1.2.3", ["1.2.3", "0.0.0"], not: ["1.2.4"]),
        Case("<*", [], not: ["0.0.0", "1.0.0"]), Case(">*", [], not: ["0.0.0", "1.0.0"]),
        Case(">=*", ["0.0.0"], not: []), Case("<=*", ["0.0.0"], not: []),
        Case("1.2.3 - 2.3.4", ["1.2.3", "2.3.4"], not: ["1.2.2", "2.3.5"]),
        Case("1.2 - 2.3.4", ["1.2.0", "2.3.4"], not: ["1.1.9"]),
        Case("1.2.3 - 2.3", ["2.3.9"], not: ["2.4.0"]),
        Case("1.2.3 - 2", ["2.9.9"], not: ["3.0.0", "1.2.2"]),
        Case("~1.2.3", ["1.2.3", "1.2.9"], not: ["1.3.0", "1.2.2"]),
        Case("~1.2", ["1.2.0", "1.2.9"], not: ["1.3.0"]),
        Case("~1", ["1.0.0", "1.9.9"], not: ["2.0.0"]),
        Case("~0.2.3", ["0.2.3", "0.2.9"], not: ["0.3.0"]),
        Case("~0", ["0.0.0", "0.9.0"], not: ["1.0.0"]),
        Case("~1.2.3-beta.2", ["1.2.3-beta.4", "1.2.9"], not: ["1.2.4-beta.2", "1.2.3-beta.1"]),
        Case("^1.2.3", ["1.2.3", "1.9.9"], not: ["2.0.0", "1.2.2", "2.0.0-0"]),
        Case("^0.2.3", ["0.2.3", "0.2.9"], not: ["0.3.0"]),
        Case("^0.0.3", ["0.0.3"], not: ["0.0.4"]),
        Case("^1.2.3-beta.2", ["1.2.3-beta.4", "1.9.0"], not: ["1.2.4-beta.2", "2.0.0"]),
        Case("^0.0.3-beta", ["0.0.3-beta", "0.0.3-pr.2", "0.0.3"], not: ["0.0.4"]),
        Case("^1.2.x", ["1.2.0", "1.9.0"], not: ["2.0.0", "1.1.0"]),
        Case("^0.0.x", ["0.0.0", "0.0.9"], not: ["0.1.0"]),
        Case("^0.0", ["0.0.0", "0.0.9"], not: ["0.1.0"]),
        Case("^1.x", ["1.0.0", "1.9.0"], not: ["2.0.0"]),
        Case("^0.x", ["0.0.0", "0.9.0"], not: ["1.0.0"]),
        Case("^18446744073709551615", ["18446744073709551615.1.0"], not: ["1.0.0"]),
    ]

    @Test(arguments: cases)
    func `has what node-semver says it has`(_ example: Case) throws {
        let range = try require(VersionRange(example.range))
        for text in example.inside {
            expect(range.contains(try require(SemanticVersion(text))), "\(text)")
        }
        for text in example.outside {
            expect(!range.contains(try require(SemanticVersion(text))), "\(text)")
        }
        expect(range.description, equals: example.range)
    }

    @Test(arguments: [
        "latest", "1.2.3.4", ">>1", "=>1", "1 -", "- 1", "a - b", "1.2.y", ">=", "01.2.3",
        "1.2.3-", "1.2-beta", "1.2.x-beta", "1.2.3 -- 2", "1.2.3 | 1.2.4", "≥1", "1,2",
        "1.2.3 || nope", "*.1-beta",
    ])
    func `is nothing else`(text: String) {
        expect(VersionRange(text) == nil)
    }
}
