/// Text that is safe to print: interpolations are escaped, literals are not.
///
///     output.print("\(path) is \("missing", .red)")
///
/// A name from a network cannot move the cursor, hide itself or reverse the line. Styles show only on terminals that
/// want colour.
package struct DisplayText: ExpressibleByStringInterpolation, Hashable, Sendable {
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

    /// - Parameter literal: trusted.
    package init(stringLiteral literal: String) {
        pieces = [Piece(text: literal, style: nil)]
    }

    package init(stringInterpolation interpolation: StringInterpolation) {
        pieces = interpolation.pieces
    }

    /// Escapes a string that may come from anywhere.
    package init(untrusted: String, _ style: Style? = nil) {
        pieces = [Piece(text: untrusted.escapedForDisplay, style: style)]
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) {
            pieces.append(Piece(text: literal, style: nil))
        }

        /// Appends a value, escaped, in a style.
        package mutating func appendInterpolation(_ value: some Any, _ style: Style? = nil) {
            pieces.append(Piece(text: String(describing: value).escapedForDisplay, style: style))
        }

        package mutating func appendInterpolation(_ text: DisplayText) {
            pieces += text.pieces
        }
    }

    package static func + (first: DisplayText, second: DisplayText) -> DisplayText {
        var joined = first
        joined.pieces += second.pieces
        return joined
    }

    package func rendered(inColour: Bool = false) -> String {
        pieces.map { piece in
            guard inColour, let style = piece.style, !piece.text.isEmpty else { return piece.text }
            return "\u{1B}[\(style.rawValue)m\(piece.text)\u{1B}[0m"
        }.joined()
    }

    var columnCount: Int {
        pieces.reduce(0) { $0 + $1.text.columnCount }
    }
}
