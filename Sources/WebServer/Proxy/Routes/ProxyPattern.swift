/// A path with stars in it, such as `/users/*/avatar` or `/**/*.json`.
///
/// `*` matches any bytes within one segment, `**` any number of segments, including none. A star never stands for an
/// empty segment. Nothing is decoded: bytes are compared as sent. The whole path must match; a pattern is no prefix.
/// The match of each star is a capture, counted from the left.
package struct ProxyPattern: Sendable, Hashable {
    private enum Segment: Sendable, Hashable {
        case pieces([[UInt8]])
        case any
    }

    /// The path before the first segment with a star, without a trailing slash.
    let fixed: [UInt8]
    /// How specific it is: its bytes without the stars.
    let weight: Int
    private let segments: [Segment]

    /// Reads a pattern that begins with a slash; `nil` if it has two `**`, or one that is not a whole segment.
    package init?(_ text: [UInt8]) {
        let text = text.last == 47 ? text.dropLast() : text[...]
        var fixed: [UInt8] = []
        var segments: [Segment] = []
        for part in text.dropFirst().split(separator: 47, omittingEmptySubsequences: false) {
            if part.elementsEqual("**".utf8) {
                guard !segments.contains(.any) else { return nil }
                segments.append(.any)
                continue
            }
            let pieces = part.split(separator: 42, omittingEmptySubsequences: false).map(Array.init)
            guard pieces.count < 3 || !pieces.dropFirst().dropLast().contains([]) else {
                return nil
            }
            if pieces.count == 1, fixed.count == Self.length(of: segments) {
                fixed += [47] + pieces[0]
            }
            segments.append(.pieces(pieces))
        }
        self.fixed = fixed
        self.segments = segments
        weight = text.count { $0 != 42 }
    }

    /// The bytes of segments without stars, or -1 if one has a star.
    private static func length(of segments: [Segment]) -> Int {
        var length = 0
        for segment in segments {
            guard case .pieces(let pieces) = segment, pieces.count == 1 else { return -1 }
            length += pieces[0].count + 1
        }
        return length
    }

    package func matches(_ path: ArraySlice<UInt8>) -> Bool {
        captures(of: path) != nil
    }

    /// The matches of its stars in a path; `nil` if the path does not match.
    func captures(of path: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        guard path.first == 47 else { return nil }
        let parts = path.dropFirst().split(separator: 47, omittingEmptySubsequences: false)
        var captures: [ArraySlice<UInt8>] = []
        guard let open = segments.firstIndex(of: .any) else {
            guard parts.count == segments.count,
                Self.match(segments[...], parts[...], &captures)
            else { return nil }
            return captures
        }
        let (front, back) = (segments[..<open], segments[(open + 1)...])
        guard parts.count >= front.count + back.count,
            Self.match(front, parts.prefix(front.count), &captures)
        else { return nil }
        let middle = parts.dropFirst(front.count).dropLast(back.count)
        if let first = middle.first, let last = middle.last {
            captures.append(path[first.startIndex..<last.endIndex])
        } else {
            captures.append([])
        }
        return Self.match(back, parts.suffix(back.count), &captures) ? captures : nil
    }

    private static func match(
        _ segments: ArraySlice<Segment>, _ parts: ArraySlice<ArraySlice<UInt8>>,
        _ captures: inout [ArraySlice<UInt8>]
    ) -> Bool {
        for (segment, part) in zip(segments, parts) {
            guard case .pieces(let pieces) = segment, match(pieces, part, &captures) else {
                return false
            }
        }
        return true
    }

    private static func match(
        _ pieces: [[UInt8]], _ part: ArraySlice<UInt8>, _ captures: inout [ArraySlice<UInt8>]
    ) -> Bool {
        guard let first = pieces.first, let last = pieces.last else { return false }
        if pieces.count == 1 { return part.elementsEqual(first) }
        guard !part.isEmpty, part.count >= first.count + last.count, part.starts(with: first),
            part.suffix(last.count).elementsEqual(last)
        else { return false }
        // Each piece at the first place where it occurs: later places leave less for the others.
        var rest = part.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() {
            let start = rest.startIndex
            while !rest.starts(with: piece) {
                guard rest.count > piece.count else { return false }
                rest = rest.dropFirst()
            }
            captures.append(part[start..<rest.startIndex])
            rest = rest.dropFirst(piece.count)
        }
        captures.append(rest)
        return true
    }

    var captureCount: Int {
        segments.reduce(0) { count, segment in
            guard case .pieces(let pieces) = segment else { return count + 1 }
            return count + pieces.count - 1
        }
    }

    /// Which of its stars is the `**`, counted from 0; `nil` if none is.
    var deepStar: Int? {
        guard let open = segments.firstIndex(of: .any) else { return nil }
        return segments[..<open].reduce(0) { count, segment in
            guard case .pieces(let pieces) = segment else { return count }
            return count + pieces.count - 1
        }
    }

    func path(with captures: [ArraySlice<UInt8>]) -> [UInt8] {
        var rest = captures[...]
        var path: [UInt8] = []
        for segment in segments {
            switch segment {
            case .any:
                let capture = rest.popFirst() ?? []
                // No segments, no slash for them.
                if !capture.isEmpty { path += [47] + capture }
            case .pieces(let pieces):
                path.append(47)
                for (index, piece) in pieces.enumerated() {
                    if index > 0 { path += rest.popFirst() ?? [] }
                    path += piece
                }
            }
        }
        return path.isEmpty ? [47] : path
    }
}
