/// The path that an upstream gets, made from the matches of a pattern's stars: `/img/$1/$2.png`.
///
/// `$1` to `$9` count the stars from the left. If a match is empty and the placeholder is a whole segment, the
/// segment is left out. Nothing is decoded or encoded.
struct ProxyTemplate: Sendable, Hashable {
    private enum Part: Sendable, Hashable {
        case text([UInt8])
        case capture(Int)
    }

    private let parts: [Part]
    /// The paths that it makes; `nil` if they do not determine the stars' matches.
    private let result: ProxyPattern?

    /// Reads the path of a URL.
    /// - Parameter pattern: the pattern with the stars; `nil` if the route has none.
    /// - Returns: `nil` if nothing of the path is to be replaced.
    init?(_ path: [UInt8], of pattern: ProxyPattern?) {
        var parts: [Part] = []
        var text: [UInt8] = []
        var position = 0
        while position < path.count {
            let next = position + 1
            if path[position] == 36, next < path.count, (49...57).contains(path[next]) {
                if !text.isEmpty { parts.append(.text(text)) }
                parts.append(.capture(Int(path[next] - 49)))
                text = []
                position += 2
            } else {
                text.append(path[position])
                position = next
            }
        }
        if !text.isEmpty { parts.append(.text(text)) }
        self.parts = parts
        guard parts.contains(where: { if case .capture = $0 { true } else { false } }) else {
            return nil
        }
        result = pattern.flatMap { Self.result(parts, $0) }
    }

    var captures: [Int] {
        parts.compactMap { if case .capture(let star) = $0 { star } else { nil } }
    }

    /// The pattern of what it makes, if every star occurs in it once, and apart from the others.
    private static func result(_ parts: [Part], _ pattern: ProxyPattern) -> ProxyPattern? {
        var text: [UInt8] = []
        var seen: Set<Int> = []
        for (index, part) in parts.enumerated() {
            switch part {
            case .text(let bytes):
                if bytes.contains(42) { return nil }
                text += bytes
            case .capture(let star):
                guard seen.insert(star).inserted, text.last != 42 else { return nil }
                guard star == pattern.deepStar else {
                    text.append(42)
                    continue
                }
                var next: UInt8? = 47
                if index + 1 < parts.count {
                    if case .text(let bytes) = parts[index + 1] {
                        next = bytes.first
                    } else {
                        next = nil
                    }
                }
                guard text.last == 47, next == 47 else { return nil }
                text += [42, 42]
            }
        }
        return seen.count == pattern.captureCount ? ProxyPattern(text) : nil
    }

    func path(with captures: [ArraySlice<UInt8>]) -> [UInt8] {
        var path: [UInt8] = []
        var isGap = false
        for part in parts {
            switch part {
            case .text(let bytes):
                // The slash before a segment that is left out is the one after it.
                if isGap, path.last == 47, bytes.first == 47 { path.removeLast() }
                path += bytes
                isGap = false
            case .capture(let star):
                let capture = star < captures.count ? captures[star] : []
                isGap = capture.isEmpty && path.last == 47
                path += capture
            }
        }
        if isGap, path.count > 1 { path.removeLast() }
        return path
    }

    /// The stars' matches in a path that it has made, in the order of the stars; `nil` if it makes no such path.
    func captures(of path: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        guard let found = result?.captures(of: path) else { return nil }
        var ordered = found
        for (place, star) in captures.enumerated() { ordered[star] = found[place] }
        return ordered
    }
}
