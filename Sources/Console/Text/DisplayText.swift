/// Text for people, safe to print: what is interpolated is escaped, what is literal is not.
///
///     output.print("\(path) is \("missing", .red)")
///
/// A name that comes from a network cannot move the cursor, hide itself or turn the line around.
/// Styles show on terminals that want colour and nowhere else.
package struct DisplayText: ExpressibleByStringInterpolation, Hashable, Sendable {
    /// How a terminal shows a piece of text.
    package enum Style: String, Hashable, Sendable, CaseIterable {
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    private var pieces: [Piece]

    fileprivate struct Piece: Hashable, Sendable {
        let text: String
        let style: Style?
    }

    /// Makes a text of a literal, which is trusted.
    package init(stringLiteral literal: String) {
        pieces = [Piece(text: literal, style: nil)]
    }

    /// Makes a text of a literal with interpolations.
    package init(stringInterpolation interpolation: StringInterpolation) {
        pieces = interpolation.pieces
    }

    /// Makes a text of a string that may come from anywhere, and escapes it.
    package init(untrusted: String, _ style: Style? = nil) {
        pieces = [Piece(text: untrusted.escapedForDisplay, style: style)]
    }

    /// Collects the pieces of an interpolated literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        /// Prepares for a literal.
        package init(literalCapacity: Int, interpolationCount: Int) {}

        /// Takes a part that is literal in the source.
        package mutating func appendLiteral(_ literal: String) {
            pieces.append(Piece(text: literal, style: nil))
        }

        /// Takes a value, escaped, in a style.
        package mutating func appendInterpolation(_ value: some Any, _ style: Style? = nil) {
            pieces.append(Piece(text: String(describing: value).escapedForDisplay, style: style))
        }

        /// Takes a text that is safe already.
        package mutating func appendInterpolation(_ text: DisplayText) {
            pieces += text.pieces
        }
    }

    /// Joins two texts.
    package static func + (first: DisplayText, second: DisplayText) -> DisplayText {
        var joined = first
        joined.pieces += second.pieces
        return joined
    }

    /// Returns the characters to print.
    package func rendered(inColour: Bool = false) -> String {
        pieces.map { piece in
            guard inColour, let style = piece.style, !piece.text.isEmpty else { return piece.text }
            return "\u{1B}[\(style.rawValue)m\(piece.text)\u{1B}[0m"
        }.joined()
    }

    /// How many columns of a terminal the text takes.
    var columnCount: Int {
        pieces.reduce(0) { $0 + $1.text.columnCount }
    }
}
