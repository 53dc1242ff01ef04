import Expectations

@testable import Console

@Suite struct SuggestionTests {
    @Test(arguments: [
        ("", "", 0), ("add", "add", 0), ("", "add", 3), ("add", "", 3), ("ad", "add", 1),
        ("add", "dad", 1), ("kitten", "sitting", 3), ("chekcout", "checkout", 1), ("ca", "abc", 3),
    ])
    func `the distance counts slips of the finger`(first: String, second: String, distance: Int) {
        expect(editDistance(first, second), equals: distance)
        expect(editDistance(second, first), equals: distance)
    }

    @Test(arguments: [
        ("ADD", "add"), ("act", "activate"), ("versoins", "versions"), ("verison", "versions"),
        ("c", nil), ("xyzzy", nil), ("", nil), ("ac", "activate"), ("delete", nil),
    ])
    func `the nearest word is suggested, if it is near`(word: String, expected: String?) {
        expect(
            nearest(to: word, among: ["activate", "add", "versions", "cat", "check"]),
            equals: expected)
    }

    @Test func `a word of any length is answered at once`() {
        let word = String(repeating: "a", count: 10_000_000)
        expect(nearest(to: word, among: ["add"]) == nil)
    }

    @Test func `alternatives read as a sentence`() {
        expect(alternatives([]), equals: "")
        expect(alternatives(["a"]), equals: "a")
        expect(alternatives(["a", "b"]), equals: "a or b")
        expect(alternatives(["a", "b", "c"]), equals: "a, b or c")
    }
}
