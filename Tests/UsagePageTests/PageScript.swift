import StorageTestSupport

/// The page's own scripts, run by Node.js where there is one; `make browser` has the whole page.
enum PageScript {
    static let node = ["/usr/bin/node", "/usr/local/bin/node", "/opt/homebrew/bin/node"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// What a script prints that stands behind some of the page's: JSON.
    ///
    /// `figures` is the document that the page would show; `words` are strings for the script.
    static func run<Answer: Decodable>(
        _ script: String, after parts: [String], figures: [UInt8], words: [String] = []
    ) throws -> Answer {
        let directory = TemporaryDirectory()
        let document = directory.appending("figures.json")
        try Data(figures).write(to: URL(filePath: document))
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/UsagePage/Page")
        let text = try parts.map {
            try String(contentsOf: page.appending(path: $0), encoding: .utf8)
        }
        let whole = """
            \(text.joined(separator: "\n"))
            const figures = JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8'));
            const words = process.argv.slice(3);
            \(script)
            """
        let file = directory.appending("script.js")
        try Data(whole.utf8).write(to: URL(filePath: file))
        let done = try OtherProgram([require(node), file, document] + words)
        expect(done.status, equals: 0)
        return try JSONDecoder().decode(Answer.self, from: done.output)
    }
}
