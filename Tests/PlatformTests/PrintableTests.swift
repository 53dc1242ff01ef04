import Expectations

@testable import Platform

@Suite("A name in a message") struct PrintableTests {
    @Test(
        arguments: ["a", "é", "\u{1B}", "\\", "𝄞"])
    func `shows no more than a beginning, whatever it is made of`(_ character: String) {
        for count in [0, 1, 100, 60_000] {
            let text = String(repeating: character, count: count)
            let shown = printable(text)
            expect(shown.utf8.count <= 1024 + 8 + 3, "\(count) times \(character)")
            expect(shown.hasSuffix("…"), equals: count > 1024)
            expect(printable(text, 200).utf8.count <= 200 + 8 + 3)
            expect(!shown.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
        }
    }

    @Test func `is cut after its secrets were removed`() {
        let token = String(repeating: "SECRET", count: 1000)
        for text in [
            "https://me:\(token)@host/", "https://host/x?k=\(token)", "http://h/#\(token)",
        ] {
            expect(!printable(text).contains("SECRET"))
        }
    }
}
