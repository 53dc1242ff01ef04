/// Parses the wildcards, brackets and escapes of a gitignore(5) pattern.
struct IgnorePatternReading {
    private let text: [UInt8]
    private let isOfPath: Bool
    private var position = 0
    private var parts: [IgnorePattern.Part] = []

    /// - Parameter isOfPath: whether the pattern matches paths; only then does `**` differ from `*`.
    init(_ text: [UInt8], ofPath isOfPath: Bool) {
        self.text = text
        self.isOfPath = isOfPath
    }

    private static let (slash, backslash, asterisk): (UInt8, UInt8, UInt8) = (47, 92, 42)
    private static let (open, close, question): (UInt8, UInt8, UInt8) = (91, 93, 63)
    private static let (caret, exclamation, hyphen, colon): (UInt8, UInt8, UInt8, UInt8) = (
        94, 33, 45, 58
    )

    private func byte(_ distance: Int = 0) -> UInt8? {
        position + distance < text.count ? text[position + distance] : nil
    }

    /// The parts; `nil` if the pattern can never match.
    mutating func read() -> [IgnorePattern.Part]? {
        while let byte = byte() {
            switch byte {
            case Self.backslash:
                guard let escaped = self.byte(1) else { return nil }
                parts.append(.byte(escaped))
                position += 2
            case Self.question:
                var any = ByteSet()
                any.insert(Self.slash)
                any.invert()
                parts.append(.oneOf(any))
                position += 1
            case Self.open:
                guard let set = readSet() else { return nil }
                parts.append(.oneOf(set))
            case Self.asterisk: readAsterisks()
            default:
                parts.append(.byte(byte))
                position += 1
            }
        }
        return parts
    }

    private mutating func readAsterisks() {
        let isFirst = position == 0 || text[position - 1] == Self.slash
        let start = position
        while byte() == Self.asterisk { position += 1 }
        let isEscaped = byte() == Self.backslash && byte(1) == Self.slash
        let isWhole = isFirst && (byte() == nil || byte() == Self.slash || isEscaped)
        guard isOfPath, position - start > 1, isWhole else {
            parts.append(.star)
            return
        }
        guard byte() == Self.slash else {
            parts.append(.all)
            return
        }
        position += 1
        // Consecutive ones are redundant.
        if parts.count >= 3, parts[parts.count - 3] == .fork { return }
        parts += [.fork, .all, .byte(Self.slash)]
    }

    /// Reads a bracket; `nil` if it is not closed or names an unknown class.
    private mutating func readSet() -> ByteSet? {
        position += 1
        let isInverted = byte() == Self.exclamation || byte() == Self.caret
        if isInverted { position += 1 }
        var set = ByteSet()
        /// The low end of a range if a hyphen follows.
        var start: UInt8?
        var isFirst = true
        while true {
            guard let byte = byte() else { return nil }
            // A `]` in first place is literal.
            if byte == Self.close, !isFirst { break }
            isFirst = false
            if byte == Self.hyphen, let low = start, let end = self.byte(1), end != Self.close {
                position += 1
                guard let high = readMember() else { return nil }
                if low <= high { for each in low...high { set.insert(each) } }
                start = nil
            } else if byte == Self.open, self.byte(1) == Self.colon,
                let end = text[(position + 2)...].firstIndex(of: Self.close),
                end > position + 2, text[end - 1] == Self.colon
            {
                guard let known = Self.members(of: text[(position + 2)..<(end - 1)]) else {
                    return nil
                }
                for each in known { set.insert(each) }
                position = end + 1
                start = nil
            } else {
                guard let member = readMember() else { return nil }
                set.insert(member)
                start = member
            }
        }
        position += 1
        if isInverted { set.invert() }
        set.remove(Self.slash)
        return set
    }

    private mutating func readMember() -> UInt8? {
        if byte() == Self.backslash { position += 1 }
        guard let member = byte() else { return nil }
        position += 1
        return member
    }

    /// The bytes of a class such as `digit`, in the C locale (glob(7)).
    private static func members(of name: ArraySlice<UInt8>) -> [UInt8]? {
        let isMember: (UInt8) -> Bool
        let (upper, lower, digit): (ClosedRange<UInt8>, ClosedRange<UInt8>, ClosedRange<UInt8>) = (
            65...90, 97...122, 48...57
        )
        func isLetter(_ byte: UInt8) -> Bool { upper.contains(byte) || lower.contains(byte) }
        func isVisible(_ byte: UInt8) -> Bool { (33...126).contains(byte) }
        switch String(decoding: name, as: UTF8.self) {
        case "alpha": isMember = isLetter
        case "digit": isMember = digit.contains
        case "alnum": isMember = { isLetter($0) || digit.contains($0) }
        case "upper": isMember = upper.contains
        case "lower": isMember = lower.contains
        case "blank": isMember = { $0 == 32 || $0 == 9 }
        case "space": isMember = { $0 == 32 || (9...13).contains($0) }
        case "cntrl": isMember = { $0 < 32 || $0 == 127 }
        case "graph": isMember = isVisible
        case "print": isMember = { isVisible($0) || $0 == 32 }
        case "punct": isMember = { isVisible($0) && !isLetter($0) && !digit.contains($0) }
        case "xdigit":
            isMember = { digit.contains($0) || (65...70).contains($0) || (97...102).contains($0) }
        default: return nil
        }
        return (0...255).filter(isMember)
    }
}
