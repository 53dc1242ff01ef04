import Expectations

/// The pages of the libraries' documentation (Sources/*/*.docc) show code that is compiled.
@Suite struct DocumentationTests {
    typealias Source = TidyTests.Source

    static let pages = TidyTests.files(["Sources"], ".md").filter { $0.path.contains(".docc/") }
    /// The lines of every snippet, without what begins them.
    static let programs = TidyTests.files(["Snippets"]).map { $0.lines.map(trimmed) }

    @Test(arguments: pages)
    func `an example stands in a program that is compiled`(_ page: Source) {
        for example in Self.examples(page) {
            let isThere = Self.programs.contains { program in
                program.indices.contains { program[$0...].starts(with: example) }
            }
            expect(
                isThere, "no file of Snippets has these lines: \(example.joined(separator: " ⏎ "))")
        }
    }

    // What a newcomer meets first: the calls of README and of the snippets.
    @Test func `the symbols used most have an example`() {
        let shown = Self.pages.filter {
            !Self.examples($0).isEmpty && $0.path.contains("/Examples/")
        }
        expect(shown.count >= 30)
    }

    @Test(arguments: [
        "CASStore", "VersionTree", "ArchiveReading", "HotPush", "Origin", "ServeFromCAS",
    ])
    func `a library has an overview, and its topics`(_ library: String) throws {
        let page = try require(
            Self.pages.first { $0.path == "Sources/\(library)/\(library).docc/\(library).md" })
        expect(page.text.hasPrefix("# ``\(library)``\n"))
        expect(page.text.contains("\n## Overview\n"))
        expect(page.text.contains("\n## Topics\n"))
    }

    @Test(arguments: ["Embed", "Publish", "Serve", "Audit"])
    func `a job has an article`(_ job: String) {
        expect(
            Self.pages.contains {
                $0.path.hasSuffix(".docc/\(job).md") && !Self.examples($0).isEmpty
            })
    }

    @Test func `each file that CONTRIBUTING's routes name is there, once`() throws {
        let guide = try String(
            contentsOf: TidyTests.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
        let rows = guide.split(separator: "\n").drop { $0 != "## Five routes" }
            .filter { $0.hasPrefix("| ") }
        let names = rows.compactMap { $0.split(separator: "|").dropFirst().last }
            .flatMap { $0.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 } }
            .map(\.element)
        expect(rows.count == 6 && names.count > 100)
        for name in names {
            let count = TidyTests.sources.count { $0.path.hasSuffix("/\(name).swift") }
            expect(count == 1, "\(name): \(count) files")
        }
    }

    private static func examples(_ page: Source) -> [[String]] {
        var examples: [[String]] = []
        var isInside = false
        for line in page.lines {
            if line == "```swift" {
                isInside = true
                examples.append([])
            } else if line == "```" {
                isInside = false
            } else if isInside {
                examples[examples.count - 1].append(trimmed(line))
            }
        }
        return examples
    }

    private static func trimmed(_ line: Substring) -> String {
        line.trimmingCharacters(in: .whitespaces)
    }
}
