import Foundation
import Testing

/// The page on reliability says which test holds which hostile input: each of them is there.
@Suite("The tally of hostile inputs") struct TallyTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The rows of the table: number, group, what holds it.
    private func rows() throws -> [(number: Int, tests: [String])] {
        let page = try String(
            contentsOf: Self.root.appending(path: "docs/reliability.md"), encoding: .utf8)
        var rows: [(Int, [String])] = []
        for line in page.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, let number = Int(cells[0]) else { continue }
            // Every other piece stands between backticks.
            let names = cells[2].split(separator: "`", omittingEmptySubsequences: false)
                .enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
            rows.append((number, names))
        }
        return rows
    }

    @Test("has every group, and each has a test or a reason")
    func complete() throws {
        #expect(try rows().map(\.number) == Array(1...68))
        #expect(try rows().allSatisfy { !$0.tests.isEmpty })
    }

    @Test("names tests that are there")
    func existing() throws {
        let tests = Self.root.appending(path: "Tests")
        var sources = ""
        for path in try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        where path.hasSuffix(".swift") {
            sources += try String(contentsOf: tests.appending(path: path), encoding: .utf8)
        }
        for row in try rows() {
            for name in row.tests { #expect(sources.contains(name), "\(row.number): \(name)") }
        }
    }
}
