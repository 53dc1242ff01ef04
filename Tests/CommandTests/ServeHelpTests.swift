import ProgramTestSupport

/// `castree serve --help` and the table of docs/serving.md.
@Suite struct ServeHelpTests {
    /// What both say of an option.
    struct Words: Equatable {
        var text: String
        /// The numbers that it takes, as `1 to 100`.
        var range: String?
        /// What holds without it.
        var fallback: String?
        var repeats = false
    }

    /// Cuts off what stands between two marks at the end of a text.
    private static func cut(
        _ text: inout String, from start: String, to end: String, if accepts: (String) -> Bool
    ) -> String? {
        guard text.hasSuffix(end), let opening = text.range(of: start, options: .backwards)
        else { return nil }
        let found = String(text[opening.upperBound...].dropLast(end.count))
        guard accepts(found) else { return nil }
        text = String(text[..<opening.lowerBound])
        return found
    }

    private static func isRange(_ text: String) -> Bool {
        let parts = text.components(separatedBy: " to ")
        return parts.count == 2 && parts.allSatisfy { Int($0) != nil }
    }

    private func helped() throws -> [String: Words] {
        let help = try Workplace().castree("serve", "--help").text
        let usage = help.components(separatedBy: "\n\n")[0]
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .joined(separator: " ")
        let section = try require(help.components(separatedBy: "\nOptions:\n").last)
        var texts: [String: String] = [:]
        var name = ""
        for line in section.components(separatedBy: "\n").prefix(while: { !$0.isEmpty }) {
            var text = line
            if line.hasPrefix("  -") {
                let words = line.dropFirst(2).prefix { $0 != " " }
                name = String(words)
                // The text begins in a column of its own, perhaps on the next line.
                text =
                    line.dropFirst(2).range(of: "  ").map { String(line[$0.upperBound...]) } ?? ""
            }
            let more = text.trimmingCharacters(in: .whitespaces)
            if !more.isEmpty {
                texts[name] = [texts[name], more].compactMap { $0 }.joined(separator: " ")
            }
        }
        texts["-h,"] = nil
        return texts.reduce(into: [:]) { result, option in
            var text = option.value
            let fallback = Self.cut(&text, from: " [default: ", to: "]") { _ in true }
            let range = Self.cut(&text, from: " (", to: ")", if: Self.isRange)
            let spelling = usage.range(of: "[\(option.key) ")
            let after = spelling.flatMap { usage[$0.upperBound...].firstIndex(of: "]") }
            let repeats = after.map { usage[$0...].hasPrefix("]...") } ?? false
            result[option.key] = Words(
                text: text, range: range, fallback: fallback, repeats: repeats)
        }
    }

    private func documented() throws -> [String: Words] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/serving.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        var result: [String: Words] = [:]
        for row in page.components(separatedBy: "\n") where row.hasPrefix("| `--") {
            let cells = row.components(separatedBy: " | ")
            let name = cells[0].dropFirst(3).prefix { $0 != " " && $0 != "`" }
            let example = try require(cells.dropFirst(2).last)
            expect(example.contains(name) || example == "as above |", "no example: \(row)")
            var text = cells[1].replacingOccurrences(of: "`", with: "")
            let repeats = text.hasSuffix("; may be repeated")
            if repeats { text.removeLast("; may be repeated".count) }
            var words = Words(text: text, repeats: repeats)
            let notes = Self.cut(&words.text, from: " (", to: ")") {
                Self.isRange($0.components(separatedBy: "; ")[0]) || $0.hasPrefix("default: ")
            }
            for note in notes?.components(separatedBy: "; ") ?? [] {
                if note.hasPrefix("default: ") {
                    words.fallback = String(note.dropFirst(9))
                } else {
                    words.range = note
                }
            }
            result[String(name)] = words
        }
        return result
    }

    @Test func `--help and docs/serving.md say the same of every option`() throws {
        let (helped, documented) = (try helped(), try documented())
        expect(helped.count > 20)
        expect(helped["--strikes"]?.range == "1 to 100" && helped["--strikes"]?.fallback == "2")
        expect(helped["--proxy"]?.repeats == true && helped["--port"]?.repeats == false)
        for (name, words) in helped { expect(documented[name], equals: words, "\(name)") }
        expect(Set(documented.keys), equals: Set(helped.keys))
    }
}
