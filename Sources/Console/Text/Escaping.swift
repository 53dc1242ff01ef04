extension String {
    /// The text with everything escaped that a terminal would obey or not show.
    ///
    /// Control characters (terminal codes begin with one), line breaks, bidirectional overrides and other invisible
    /// characters are shown as `\n`, `\t`, `\u{202E}`. Escaping twice changes nothing, because the backslash itself
    /// is left alone.
    package var escapedForDisplay: String {
        guard unicodeScalars.contains(where: { $0.isTreacherous }) else { return self }
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where scalar.isTreacherous:
                escaped += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension String {
    /// A JSON text with treacherous characters as escapes; they only occur within strings.
    var jsonEscaped: String {
        var escaped = ""
        for scalar in unicodeScalars {
            guard scalar.isTreacherous else {
                escaped.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is obeyed rather than shown.
    var isTreacherous: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator:
            return true
        case .format:
            // Joiners belong to words in Persian and Indic scripts, and to emoji; the other two are visible signs.
            return value != 0x200C && value != 0x200D && !(0x0600...0x0605).contains(value)
                && value != 0x06DD
        default:
            return false
        }
    }

    /// The width of the scalar on a terminal: 0, 1 or 2 columns, by blocks after Unicode Standard Annex 11.
    var columnCount: Int {
        if isASCII { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default:
            return 1
        }
    }
}

extension String {
    var columnCount: Int {
        unicodeScalars.reduce(0) { $0 + $1.columnCount }
    }

    /// Pads the text on the left to at least the columns given.
    func padded(toColumns count: Int) -> String {
        String(repeating: " ", count: max(0, count - columnCount)) + self
    }

    func truncated(toColumns limit: Int) -> String {
        guard columnCount > limit else { return self }
        guard limit > 0 else { return "" }
        var kept = ""
        var columns = 1
        for scalar in unicodeScalars {
            columns += scalar.columnCount
            if columns > limit { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept + "…"
    }
}
