/// Patterns that stand together, in one file or on one command line: the last one that matches decides.
struct IgnoreList: Sendable, Hashable {
    /// The directory below which they count, by its path; empty for all.
    private let base: [UInt8]
    private let patterns: [IgnorePattern]

    /// Makes a list of patterns as they are.
    init(_ patterns: [IgnorePattern]) {
        base = []
        self.patterns = patterns
    }

    /// Makes a list of the lines of a file that stands in a directory.
    ///
    /// As git reads them: nothing of an empty line or one that begins with `#`, and no spaces at the end unless a
    /// backslash stands before them.
    init(lines: [UInt8], in base: [UInt8]) {
        self.base = base
        var text = lines[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        patterns = text.split(separator: 10).compactMap { line in
            guard line.first != 35 else { return nil }
            let kept = Self.trimmed(line.last == 13 ? line.dropLast() : line)
            return kept.isEmpty ? nil : IgnorePattern(kept)
        }
    }

    /// A line without the spaces at its end.
    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var end = line.startIndex
        var position = line.startIndex
        while position < line.endIndex {
            let isEscape = line[position] == 92
            let isSpace = line[position] == 32
            position = min(position + (isEscape ? 2 : 1), line.endIndex)
            if !isSpace { end = position }
        }
        return line[..<end]
    }

    /// The pattern that decides over a path below the source's root; `nil` if none matches.
    func deciding(
        _ path: UnsafeBufferPointer<UInt8>, isDirectory: Bool
    ) -> IgnorePattern? {
        guard !patterns.isEmpty else { return nil }
        let start = base.isEmpty ? 0 : base.count + 1
        guard start < path.count else { return nil }
        let inner = UnsafeBufferPointer(rebasing: path[start...])
        return patterns.last { $0.matches(inner, isDirectory: isDirectory) }
    }
}
