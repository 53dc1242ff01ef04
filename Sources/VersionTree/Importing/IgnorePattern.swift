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
