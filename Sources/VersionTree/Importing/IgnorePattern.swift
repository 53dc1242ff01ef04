/// A compiled gitignore(5) pattern, matched without backtracking in at most the path's length times its own.
struct IgnorePattern: Sendable, Hashable {
    enum Part: Sendable, Hashable {
        case byte(UInt8)
        /// One byte of a set that never contains a slash.
        case oneOf(ByteSet)
        /// Any bytes but slashes.
        case star
        /// Any bytes.
        case all
        /// Either the next two parts or a jump over them: `**/` is `all` and a slash, or nothing.
        case fork
    }

    /// Whether it takes back what earlier patterns leave out (`!`).
    let isNegated: Bool
    /// Whether its last component is a literal name without wildcards.
    let endsWithName: Bool
    private let wantsDirectory: Bool
    /// Whether it contains a slash and so matches the path instead of the name alone.
    private let hasSlash: Bool
    /// `nil` if it never matches: a bracket is not closed, or a backslash ends it.
    private let parts: [Part]?

    var isBroken: Bool { parts == nil }

    private static let (slash, exclamation): (UInt8, UInt8) = (47, 33)

    /// - Parameter text: a line without its line break.
    init(_ text: some Collection<UInt8>) {
        var rest = Array(text)[...]
        isNegated = rest.first == Self.exclamation
        if isNegated { rest = rest.dropFirst() }
        wantsDirectory = rest.last == Self.slash
        if wantsDirectory { rest = rest.dropLast() }
        hasSlash = rest.contains(Self.slash)
        if hasSlash, rest.first == Self.slash { rest = rest.dropFirst() }
        var reading = IgnorePatternReading(Array(rest), ofPath: hasSlash)
        parts = reading.read()
        let last = parts?.split(separator: .byte(Self.slash)).last
        endsWithName = last?.allSatisfy { if case .byte = $0 { true } else { false } } ?? false
    }

    /// Matches a path relative to the directory of the pattern.
    func matches(_ path: UnsafeBufferPointer<UInt8>, isDirectory: Bool) -> Bool {
        guard isDirectory || !wantsDirectory, let parts, !parts.isEmpty else { return false }
        guard !hasSlash, let last = path.lastIndex(of: Self.slash) else {
            return Self.matches(parts, path)
        }
        return Self.matches(parts, UnsafeBufferPointer(rebasing: path[(last + 1)...]))
    }

    /// Simulates all ways at once: `here` marks the parts that may come next.
    private static func matches(_ parts: [Part], _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        if case .byte(let first) = parts[0], text.first != first { return false }
        let count = parts.count + 1
        return withUnsafeTemporaryAllocation(of: Bool.self, capacity: 2 * count) { buffer in
            buffer.initialize(repeating: false)
            var here = UnsafeMutableBufferPointer(rebasing: buffer[..<count])
            var next = UnsafeMutableBufferPointer(rebasing: buffer[count...])
            enter(0, parts, here)
            for byte in text {
                var isAlive = false
                for position in parts.indices where here[position] {
                    let goesOn: Int?
                    switch parts[position] {
                    case .byte(let own): goesOn = own == byte ? position + 1 : nil
                    case .oneOf(let set): goesOn = set.contains(byte) ? position + 1 : nil
                    case .star: goesOn = byte == slash ? nil : position
                    case .all: goesOn = position
                    case .fork: goesOn = nil
                    }
                    guard let goesOn else { continue }
                    isAlive = true
                    enter(goesOn, parts, next)
                }
                guard isAlive else { return false }
                swap(&here, &next)
                next.update(repeating: false)
            }
            return here[parts.count]
        }
    }

    /// Marks a position and those reachable from it without a byte.
    private static func enter(
        _ start: Int, _ parts: [Part], _ states: UnsafeMutableBufferPointer<Bool>
    ) {
        var position = start
        while !states[position] {
            states[position] = true
            guard position < parts.count else { return }
            switch parts[position] {
            case .star, .all: break
            // Forks are never adjacent, so this recurses no deeper.
            case .fork: enter(position + 3, parts, states)
            default: return
            }
            position += 1
        }
    }
}

struct ByteSet: Sendable, Hashable {
    private var words = [UInt64](repeating: 0, count: 4)

    func contains(_ byte: UInt8) -> Bool { words[Int(byte >> 6)] & (1 << UInt64(byte & 63)) != 0 }

    mutating func insert(_ byte: UInt8) { words[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }

    mutating func remove(_ byte: UInt8) { words[Int(byte >> 6)] &= ~(1 << UInt64(byte & 63)) }

    mutating func invert() { words = words.map { ~$0 } }
}

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
