import Expectations

@testable import Console

@Suite struct DisplayTests {
    @Test(arguments: [
        ("plain", "plain"), ("größe 日本 👩‍👩‍👧 می‌خواهم", "größe 日本 👩‍👩‍👧 می‌خواهم"),
        ("a\nb\tc\rd", #"a\nb\tc\rd"#), ("\u{1B}[31m", #"\u{1B}[31m"#),
        ("\0\u{7F}", #"\u{0}\u{7F}"#),
        ("\u{9B}2J", #"\u{9B}2J"#), ("a\u{202E}b\u{2066}", #"a\u{202E}b\u{2066}"#),
        ("\u{200F}\u{200B}\u{FEFF}\u{AD}", #"\u{200F}\u{200B}\u{FEFF}\u{AD}"#),
        ("\u{2028}\u{2029}\u{E0041}", #"\u{2028}\u{2029}\u{E0041}"#), (#"C:\new"#, #"C:\new"#),
    ])
    func `what a terminal would obey is shown`(text: String, shown: String) {
        expect(text.escapedForDisplay, equals: shown)
        expect(shown.escapedForDisplay, equals: shown)
    }

    @Test func `every control character is shown`() {
        for value in Array(0..<0x20) + Array(0x7F..<0xA0) as [UInt32] {
            guard let scalar = Unicode.Scalar(value) else { continue }
            expect(String(scalar).escapedForDisplay.unicodeScalars.first, equals: "\\")
        }
    }

    @Test func `interpolated text is escaped, literal text and styles are not`() {
        let name = "a\u{1B}b"
        let text: DisplayText = "\t\(name): \("bad", .red)\n"
        expect(text.rendered(), equals: "\ta\\u{1B}b: bad\n")
        expect(text.rendered(inColour: true), equals: "\ta\\u{1B}b: \u{1B}[31mbad\u{1B}[0m\n")
        let nested: DisplayText = "<\(text)>\(7)"
        expect(nested.rendered(), equals: "<\ta\\u{1B}b: bad\n>7")
        expect(DisplayText(untrusted: "a\nb").rendered(), equals: #"a\nb"#)
    }

    @Test(arguments: [
        ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("", 0), ("한글", 4), ("né", 2),
    ])
    func `columns are counted as a terminal shows them`(text: String, columns: Int) {
        expect(text.columnCount, equals: columns)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 4, "abc…"), ("日本語", 4, "日…"), ("abc", 0, ""),
        ("abc", 1, "…"),
    ])
    func `a cut text shows that it is cut`(text: String, columns: Int, cut: String) {
        expect(text.truncated(toColumns: columns), equals: cut)
    }
}

@Suite struct TextTableTests {
    @Test func `columns are aligned and no line ends in spaces`() {
        var table = TextTable([.left("VERSION"), .right("SIZE"), .left("STATE")])
        table.add(["2.0", "1.0 KiB", "current"])
        table.add(["日本語", "512 B", ""])
        expect(
            table.lines.map { $0.rendered() },
            equals: [
                "VERSION     SIZE  STATE",
                "2.0      1.0 KiB  current",
                "日本語     512 B",
            ])
    }

    @Test func `a table without headings has none, and one without rows is empty`() {
        var table = TextTable([.left(""), .right("")])
        expect(table.lines.isEmpty)
        table.add(["objects", "7"])
        table.add(["", "12"])
        expect(table.lines.map { $0.rendered() }, equals: ["objects   7", "         12"])
        expect(TextTable([.left("A")]).lines.isEmpty)
    }

    @Test func `cells are escaped and styled`() {
        var table = TextTable([.left(""), .left("")])
        table.add(["\("a\nb", .green)", "x"])
        expect(table.lines.map { $0.rendered() }, equals: [#"a\nb  x"#])
        expect(table.lines.first?.rendered(inColour: true), equals: "\u{1B}[32ma\\nb\u{1B}[0m  x")
    }
}
