import Expectations

/// The folders of a target have an order, drawn in DESIGN.md, and point one way.
///
/// What a folder points at is read from the code: the names of the types and functions that another folder declares at
/// the top of a file. Names that two folders declare say nothing, and neither do members.
@Suite struct FolderTests {
    typealias Source = TidyTests.Source

    /// The folders of each target, the lowest first.
    static let order: [String: [String]] = {
        let design = TidyTests.root.appending(path: "DESIGN.md")
        // Without it the first test says what is missing.
        guard let text = try? String(contentsOf: design, encoding: .utf8),
            let heading = text.range(of: "### Folders, from the lowest\n"),
            let begin = text[heading.upperBound...].range(of: "```\n"),
            let end = text[begin.upperBound...].range(of: "```")
        else { return [:] }
        var order: [String: [String]] = [:]
        var target = ""
        for line in text[begin.upperBound..<end.lowerBound].split(separator: "\n") {
            var words = line.split(separator: " ").map(String.init)
            if !line.hasPrefix(" "), !words.isEmpty { target = words.removeFirst() }
            order[target, default: []] += words
        }
        return order
    }()

    static let targets: [String] = Set(
        TidyTests.sources.filter { $0.path.hasPrefix("Sources/") }.map { folder($0).target }
    ).sorted()

    static func folder(_ file: Source) -> (target: String, folder: String?) {
        let parts = file.path.split(separator: "/").map(String.init)
        return (parts[1], parts.count > 3 ? parts[2] : nil)
    }

    @Test(arguments: targets)
    func `every folder of the target has its place in the order`(_ target: String) {
        let files = TidyTests.sources.filter { $0.path.hasPrefix("Sources/\(target)/") }
        let folders = Set(files.compactMap { Self.folder($0).folder })
        guard !folders.isEmpty else { return }
        expect(
            Set(Self.order[target] ?? []), equals: folders,
            "DESIGN.md, Folders, from the lowest: \(target) has \(folders.sorted())")
    }

    @Test(arguments: targets)
    func `a folder points at lower ones only`(_ target: String) {
        let files = TidyTests.sources.filter { $0.path.hasPrefix("Sources/\(target)/") }
        let order = Self.order[target] ?? []
        var homes: [String: Set<String>] = [:]
        let texts = files.map { Self.withoutTexts($0) }
        for (file, text) in zip(files, texts) {
            guard let folder = Self.folder(file).folder else { continue }
            for name in Self.matches(Self.declaration, text) {
                homes[name, default: []].insert(folder)
            }
        }
        for (file, text) in zip(files, texts) {
            guard let folder = Self.folder(file).folder, let height = order.firstIndex(of: folder)
            else { continue }
            for name in Set(Self.matches(Self.word, text)) {
                guard let home = homes[name], home.count == 1, let other = home.first,
                    other != folder, let place = order.firstIndex(of: other), place > height
                else { continue }
                Issue.record(
                    "\(file.path) uses \(name), which \(other)/ declares, and that stands above \(folder)/"
                )
            }
        }
    }

    @Test func `no function has more than 70 lines`() {
        for file in TidyTests.sources {
            let lines = file.lines.map(String.init)
            for (index, line) in lines.enumerated()
            where line.contains("func ") || line.contains("init") || line.contains("subscript") {
                guard !Self.matches(Self.function, line).isEmpty,
                    let end = Self.end(ofFunctionAt: index, lines), end - index >= 70
                else { continue }
                Issue.record(
                    "\(file.path):\(index + 1) has \(end - index + 1) lines; give its steps names")
            }
        }
    }

    /// Where the body ends of the function that begins at a line; `nil` if it has none (a requirement).
    private static func end(ofFunctionAt index: Int, _ lines: [String]) -> Int? {
        let indent = String(lines[index].prefix { $0 == " " })
        for (number, line) in lines.enumerated().dropFirst(index + 1) where line.hasPrefix(indent) {
            let rest = line.dropFirst(indent.count)
            if rest == "}" { return number }
            // Deeper, or the end of a signature over several lines.
            guard let first = rest.first, first != " ", first != ")", first != "}" else { continue }
            return nil
        }
        return nil
    }

    // MARK: reading Swift

    private static let declaration = expression(
        #"^(?:(?:public|package|internal|private|fileprivate|final|indirect|@\w+(?:\([^)]*\))?)\s+)*"#
            + #"(?:struct|class|enum|protocol|actor|typealias|func|let|var)\s+(\w+)"#)
    private static let word = expression(#"(?<![.\w])([A-Za-z_]\w*)"#)
    private static let function = expression(
        #"^\s*(?:[\w@()]+\s+)*?(func|init|deinit|subscript)\b"#)
    private static let texts = expression(#""""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|//[^\n]*"#)

    private static func expression(_ pattern: String) -> NSRegularExpression {
        guard let made = try? NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
        else { preconditionFailure("the pattern is wrong: \(pattern)") }
        return made
    }

    private static func matches(_ expression: NSRegularExpression, _ text: String) -> [String] {
        let text = text as NSString
        return expression.matches(
            in: text as String, range: NSRange(location: 0, length: text.length)
        )
        .map { text.substring(with: $0.range(at: 1)) }
    }

    /// The code of a file without its comments and string literals.
    private static func withoutTexts(_ file: Source) -> String {
        texts.stringByReplacingMatches(
            in: file.text, range: NSRange(file.text.startIndex..., in: file.text), withTemplate: "")
    }
}
