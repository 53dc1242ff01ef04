import ProgramTestSupport

/// `castree serve --help` and docs/serving.md.
@Suite struct ServeHelpTests {
    @Test func `docs/serving.md names every option of --help`() throws {
        let help = try Workplace().castree("serve", "--help").text
        let section = try require(help.components(separatedBy: "\nOptions:\n").last)
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/serving.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        var count = 0
        for line in section.components(separatedBy: "\n").prefix(while: { !$0.isEmpty })
        where line.hasPrefix("  --") {
            let name = line.dropFirst(2).prefix { $0 != " " }
            expect(page.contains("`\(name)`"), "\(name)")
            count += 1
        }
        expect(count > 20)
    }
}
