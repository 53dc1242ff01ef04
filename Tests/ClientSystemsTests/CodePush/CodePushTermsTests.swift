import Expectations
import HotPush

@testable import ClientSystems

@Suite struct CodePushTermsTests {
    @Test func `The lowest app version admits what castree's own devices take for later`() throws {
        let terms = try require(
            CodePushTerms([
                Requirement(kind: Requirement.minimumAppVersion, value: "1.2"),
                Requirement(kind: Requirement.appVersionRange, value: "1.x || 2.0.0-rc.1"),
            ]))
        let table: [(String, String)] = [
            ("1.1.9", ">=1.2.0 newer"), ("1.2.0", "in"), ("1.2.0-rc", ">=1.2.0 newer"),
            ("2.0.0-rc.1", "in"), ("1.3.0-rc", "1.x || 2.0.0-rc.1 newer"),
            ("2.0.0", "1.x || 2.0.0-rc.1 older"),
        ]
        for (text, told) in table {
            let version = try require(SemanticVersion(text))
            let advice = terms.advice(to: version)
            expect(terms.admit(version), equals: (told == "in"))
            expect(
                (advice.map { $0.range + ($0.asksForNewerApp ? " newer" : " older") } ?? "in"),
                equals: told, "\(text)")
        }
    }
}
