import StorageTestSupport

@testable import VersionTree

/// What is wrong, each thing once (docs/maintenance.md, "What a finding means").
@Suite("The problems of a check") struct ProblemTests {
    private func finding(
        _ kind: Finding.Kind, _ object: ObjectID, _ version: String, _ path: String
    ) -> Finding {
        var finding = Finding(kind, object: object, version: version, path: path, "it is wrong")
        finding.message += finding.placePhrase
        return finding
    }

    @Test func `are told apart by object and kind, and keep the order of the findings`() throws {
        let (one, two) = (try address(of: "one"), try address(of: "two"))
        var report = CheckReport()
        report.findings = [
            finding(.damagedObject, one, "1", "a"), Finding(.strayFile, path: "x", "stray"),
            finding(.damagedObject, two, "1", "b"), finding(.damagedExecutableCopy, one, "1", "a"),
            finding(.damagedObject, one, "2", "a"), Finding(.missingObject, object: one, "gone"),
        ]
        expect(
            report.problems.map(\.message),
            equals: [
                "it is wrong (used by 1:a and 2:a)", "stray", "it is wrong (used by 1:b)",
                "it is wrong (used by 1:a)", "gone",
            ])
    }

    @Test(.timeLimit(.minutes(60)))
    func `are found in time that grows with the findings, not with their square`() throws {
        let object = try address(of: "one")
        var report = CheckReport()
        report.findings = (0..<200_000).map { finding(.missingObject, object, "1", "\($0)") }
        expect(
            report.problems.map(\.message),
            equals: ["it is wrong (used by 1:0, 1:1, 1:2, 1:3, 1:4 and 199995 others)"])
    }
}
