import ProgramTestSupport

/// What README.md says that a command prints is what it prints; `…` stands for anything.
@Suite struct ReadmeTests {
    let place = Workplace(inMemory: true)

    /// The commands of README that are quoted with what they print.
    private func quoted() throws -> [(command: String, output: String)] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../README.md")
        let blocks = try String(contentsOf: file, encoding: .utf8)
            .components(separatedBy: "\n```console\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
        var found: [(command: String, output: String)] = []
        for block in blocks {
            var isCommand = false
            for line in block.split(separator: "\n", omittingEmptySubsequences: false) {
                if line.hasPrefix("$ ") {
                    let command = line.dropFirst(2).components(separatedBy: "  #")[0]
                    found.append((command.trimmingCharacters(in: .whitespaces), ""))
                    isCommand = true
                } else if isCommand {
                    found[found.count - 1].output += line + "\n"
                }
            }
        }
        return found.filter { !$0.output.isEmpty }
    }

    private func output(of command: String) throws -> String {
        let quotations = try quoted().filter { $0.command == command }
        expect(quotations.count, equals: 1, "of \(command)")
        return try require(quotations.first).output
    }

    private func isSaid(_ text: String, _ pattern: String) -> Bool {
        let parts = pattern.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
        return text.range(
            of: "^(?s:\(parts.joined(separator: ".*")))$", options: .regularExpression) != nil
    }

    @Test func `nothing is quoted that is not tried here`() throws {
        let commands = try quoted().map(\.command)
        expect(
            Set(commands),
            equals: [
                "castree serve --app-id com.example.kiosk --confirm-within 20s", "castree fsck",
            ])
    }

    @Test func `the server's first line is as quoted`() throws {
        try place.add("1.0", Release.first, "--activate")
        let quotation = try output(
            of: "castree serve --app-id com.example.kiosk --confirm-within 20s")
        let served = try Served(
            place, ["--app-id", "com.example.kiosk", "--confirm-within", "20s"])
        expect(isSaid(served.ready, quotation), "it says \(served.ready)")
    }

    @Test func `what a check finds is as quoted`() throws {
        try place.add("1.38.0", ["index.html": "hi\n"])
        try place.add("1.39.0", ["index.html": "hi\n", "z": "z\n"])
        try place.damage(".castree/versions/1.38.0/index.html", with: "HI\n")
        let found = try place.castree("fsck").text
        try expect(isSaid(found, output(of: "castree fsck")), "it says \(found)")
    }
}
