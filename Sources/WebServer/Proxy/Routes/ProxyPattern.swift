/// A path with stars in it, such as `/users/*/avatar` or `/**/*.json`.
///
/// `*` matches any bytes within one segment, `**` any number of segments, including none. A star
/// never stands for an empty segment. Nothing is decoded: the path's bytes are compared as they
/// were sent. The whole path must match; a pattern is no prefix.
struct ProxyPattern: Sendable, Hashable {
    private enum Segment: Sendable, Hashable {
        /// The parts between the stars; one part if there is no star.
        case pieces([[UInt8]])
        /// `**`.
        case any
    }

    /// The path before the first segment with a star, without a slash at its end.
    let fixed: [UInt8]
    /// How specific it is: its bytes without the stars.
    let weight: Int
    private let segments: [Segment]

    /// Reads a pattern that begins with a slash.
    ///
    /// `nil` if it has two `**`, or one that is not a whole segment.
    init?(_ text: [UInt8]) {
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

    /// Whether a path matches.
    func matches(_ path: ArraySlice<UInt8>) -> Bool {
        guard path.first == 47 else { return false }
        let parts = path.dropFirst().split(separator: 47, omittingEmptySubsequences: false)
        guard let open = segments.firstIndex(of: .any) else {
            return parts.count == segments.count && Self.match(segments[...], parts[...])
        }
        let (front, back) = (segments[..<open], segments[(open + 1)...])
        guard parts.count >= front.count + back.count else { return false }
        return Self.match(front, parts.prefix(front.count))
            && Self.match(back, parts.suffix(back.count))
    }

    private static func match(
        _ segments: ArraySlice<Segment>, _ parts: ArraySlice<ArraySlice<UInt8>>
    ) -> Bool {
        for (segment, part) in zip(segments, parts) {
            guard case .pieces(let pieces) = segment, match(pieces, part) else { return false }
        }
        return true
    }

    private static func match(_ pieces: [[UInt8]], _ part: ArraySlice<UInt8>) -> Bool {
        guard let first = pieces.first, let last = pieces.last else { return false }
        if pieces.count == 1 { return part.elementsEqual(first) }
        guard !part.isEmpty, part.count >= first.count + last.count, part.starts(with: first),
            part.suffix(last.count).elementsEqual(last)
        else { return false }
        // Each piece at the first place where it occurs: later places leave less for the others.
        var rest = part.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() {
            while !rest.starts(with: piece) {
                guard rest.count > piece.count else { return false }
                rest = rest.dropFirst()
            }
            rest = rest.dropFirst(piece.count)
        }
        return true
    }
}
