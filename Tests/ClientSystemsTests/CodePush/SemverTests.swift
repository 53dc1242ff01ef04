import HotPush
import StorageTestSupport

@testable import ClientSystems

/// Versions and ranges against the node-semver of npm, which the servers of CodePush and hot-updater use.
@Suite struct SemverTests {
    private static let versions = [
        "0.0.0", "0.0.1", "0.1.0", "0.9.9", "1.0.0", "1.0.0-0", "1.0.0-alpha", "1.0.0-alpha.1",
        "1.0.0-beta", "1.0.0+build", "1.0.1", "1.1.0-pre", "1.1.0", "1.1.5", "1.2.0", "1.2.3",
        "1.2.3-rc.2", "1.2.4", "1.3.0", "1.9.9", "2.0.0-0", "2.0.0", "2.1.3", "3.0.0", "10.0.0",
    ]
    private static let ranges = [
        "*", "x", "X", "1", "1.x", "1.X.*", "1.0", "1.2.x", "1.2", "1.0.0", "=1.2.3", "= 1.2.3",
        "v1.2.3", "1.0.0-alpha", "1.0.0-0", ">1", ">1.2", ">1.2.3", ">=1", ">= 1.2", ">=1.2.3",
        ">=1.0.0-alpha", "<1", "<1.2", "<1.2.3", "<2.0.0", "<=1", "<=1.2", "<=1.2.3", "<0.0.0",
        "^1", "^1.2", "^1.2.3", "^0", "^0.0", "^0.1", "^0.0.1", "^0.1.2", "^1.2.3-rc.1", "^ 1.2.3",
        "~1", "~1.2", "~1.2.3", "~0", "~ 1.2.3", "~>1.2", "~1.2.3-rc.1", ">=1.1.0 <1.2.0",
        ">= 5.7.0 <= 5.7.4", "1.2.3 - 1.9.9", "1.2 - 1.3", "1 - 2", "1.0.0-alpha - 1.2",
        "1.0.0 || 2.0.0",
        "^1 || ^3", "<1.0.0 || >2.0.0", "1.x || >=2.5.0 || 5.0.0 - 7.2.3", ">1.0.0 <1.0.0",
        "1.0.0 || *", "||", "||1.0.0", ">=1.0.0 <2.0.0 || >=3.0.0", "<1 || <2", ">*", "<*", ">=*",
        "~*", "^*", "^1.x", "~1.x.x", "x.1", "1.2.3.4", "1.2.03", "a", "1.0.0 ||", "|", ">", "1..2",
        "=>1",
    ]
    private static let texts =
        versions + [
            "", " 1.2.3 ", "v1.2.3", "V1.2.3", "vv1.2.3", "=1.2.3", "1", "1.2", "1.2.3.4", "01.2.3",
            "1.2.3-01", "1.2.3-a..b", "1.2.3+", "9007199254740991.0.0", "9007199254740992.0.0",
            "99999999999999999999.1.2", "a1b2", "version 3", "1.2-beta", "2.0-prerelease", ".5",
            "1.",
            "1.2.", "1.12345678901234567.3", "1.2.12345678901234567", "x.y.z", "١.٢.٣", "1,2,3",
            "\t1.0.0\n", "1.0.0\u{0}", "0x1", "-1.2.3",
            "1.2.3-" + String(repeating: "a", count: 300),
        ]

    private static let node = "/usr/bin/node"
    private static let library = "/usr/lib/node_modules/npm/node_modules/semver"
    private static var isHere: Bool {
        FileManager.default.isExecutableFile(atPath: node)
            && FileManager.default.fileExists(atPath: library)
    }

    private struct Table: Codable {
        var versions: [String]
        var ranges: [String]
        var texts: [String]
    }

    private struct Verdicts: Codable {
        /// For each range that is one, a sign for each version: `s` satisfies, `>` is above, `-` neither.
        var ranges: [String?]
        var valid: [String?]
        var coerced: [String?]
    }

    private static let program = """
        const semver = require(process.argv[1]);
        let input = '';
        process.stdin.on('data', (d) => { input += d; });
        process.stdin.on('end', () => {
          const t = JSON.parse(input);
          const sign = (v, r) => semver.satisfies(v, r) ? 's' : semver.gtr(v, r) ? '>' : '-';
          process.stdout.write(JSON.stringify({
            ranges: t.ranges.map((r) => semver.validRange(r) === null
              ? null : t.versions.map((v) => sign(v, r)).join('')),
            valid: t.texts.map((v) => semver.valid(v)),
            coerced: t.texts.map((v) => { const c = semver.coerce(v); return c === null ? null : c.version; }),
          }));
        });
        """

    private static func verdicts() throws -> Verdicts {
        let table = Table(versions: versions, ranges: ranges, texts: texts)
        let answer = try OtherProgram(
            [node, "-e", program, library], input: JSONEncoder().encode(table)
        ).output
        return try JSONDecoder().decode(Verdicts.self, from: answer)
    }

    @Test(.enabled(if: isHere, "needs node and the semver of npm"))
    func `Ranges contain the versions, and lie below those, that they do for node-semver`() throws {
        let verdicts = try Self.verdicts()
        var differences: [String] = []
        for (text, wanted) in zip(Self.ranges, verdicts.ranges) {
            guard let range = VersionRange(text) else {
                if wanted != nil { differences.append("\(text): no range here") }
                continue
            }
            let signs = Self.versions.map { text -> String in
                guard let version = SemanticVersion(valid: text) else { return "?" }
                return range.contains(version) ? "s" : range.isBelow(version) ? ">" : "-"
            }
            if signs.joined() != wanted {
                differences.append("\(text): \(signs.joined()) here, \(wanted ?? "none") there")
            }
        }
        expect(differences, equals: [])
    }

    @Test(.enabled(if: isHere, "needs node and the semver of npm"))
    func `Versions are read and found as node-semver reads and finds them`() throws {
        let verdicts = try Self.verdicts()
        var differences: [String] = []
        for (position, text) in Self.texts.enumerated() {
            let valid = SemanticVersion(valid: text)?.description
            if valid != verdicts.valid[position] {
                differences.append("valid \(text.debugDescription): \(valid ?? "none")")
            }
            let coerced = SemanticVersion(coercing: text)?.description
            if coerced != verdicts.coerced[position] {
                differences.append("coerce \(text.debugDescription): \(coerced ?? "none")")
            }
        }
        expect(differences, equals: [])
    }
}
