import CASStore

/// A file that tells a directory of castree's own, which no version holds.
package struct OwnMark: Sendable {
    /// How the file begins.
    package let start: [UInt8]
    private let what: String

    private static let all: [[UInt8]: OwnMark] = [
        Array(StoreLayout.format.utf8): OwnMark(start: Array("castree ".utf8), what: "a store"),
        Array("origin.json".utf8): OwnMark(
            start: Array(#"{"castreeOrigin":"#.utf8), what: "an origin"),
    ]

    private init(start: [UInt8], what: String) {
        self.start = start
        self.what = what
    }

    /// The mark that a file of this name may be; `nil` for any other name.
    package init?(of name: some Sequence<UInt8>) {
        guard let mark = Self.all[Array(name)] else { return nil }
        self = mark
    }

    /// Why the directory that has it is refused, as the end of a sentence.
    package var objection: String {
        "it is \(what) of castree's, which no version holds; move it elsewhere, or leave it out by --exclude"
    }
}
