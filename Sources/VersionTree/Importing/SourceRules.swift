package import CASStore

/// Decides which paths of a source a version takes, for directories and archives alike.
///
/// The given patterns come first, then those of the `.castreeignore` files from the deepest up; within each, the last
/// match decides. A path that no pattern matches is taken, except for version control files, the `.castreeignore`
/// files themselves and, on request, junk.
package struct SourceRules: Sendable, Hashable {
    private let given: IgnoreList
    private var files: [IgnoreList] = []
    package let skipsJunk: Bool

    package enum Verdict: Sendable {
        case taken
        /// Taken but probably not meant.
        case takenUnwanted
        /// Junk if its first bytes are those of an AppleDouble file, otherwise taken.
        case asItBegins
        case leftOut
    }

    /// - Parameters:
    ///   - patterns: what to leave out, by the rules of gitignore(5); the last match decides.
    ///   - skipsJunk: leave out system files such as `.DS_Store`.
    /// - Throws: `.badPath` for a pattern that can match nothing.
    package init(excluding patterns: [String] = [], skippingJunk skipsJunk: Bool = false)
        throws(StoreError)
    {
        var read: [IgnorePattern] = []
        for text in patterns {
            let pattern = IgnorePattern(text.utf8)
            guard !pattern.isBroken, !text.allSatisfy({ "!/".contains($0) }) else {
                throw StoreError(
                    .badPath,
                    "the pattern \"\(printable(text))\" matches nothing: it is empty, its bracket is not closed, or "
                        + "nothing follows its backslash")
            }
            read.append(pattern)
        }
        given = IgnoreList(read)
        self.skipsJunk = skipsJunk
    }

    /// Adds the lines of the `.castreeignore` in `directory`, for everything below it.
    package mutating func obey(_ lines: [UInt8], in directory: [UInt8]) {
        files.append(IgnoreList(lines: lines, in: directory))
    }

    /// The verdict on a path whose directory is taken.
    package func verdict(
        on path: UnsafeBufferPointer<UInt8>, isDirectory: Bool
    ) -> Verdict {
        let slash = path.lastIndex(of: 47)
        let name = UnsafeBufferPointer(rebasing: path[(slash.map { $0 + 1 } ?? 0)...])
        let kind = UnwantedName(name, isAtRoot: slash == nil)
        if let pattern = deciding(path, isDirectory) {
            guard pattern.isNegated else { return .leftOut }
            // `!*/` is not meant for it.
            return kind == .versionControl && !pattern.endsWithName ? .leftOut : .taken
        }
        switch kind {
        case nil: return .taken
        case .versionControl, .ignoreFile: return .leftOut
        case .junk: return verdictOnJunk
        case .notForUsers: return .takenUnwanted
        case .perhapsAppleDouble: return isDirectory ? .taken : .asItBegins
        }
    }

    package var verdictOnJunk: Verdict { skipsJunk ? .leftOut : .takenUnwanted }

    private func deciding(
        _ path: UnsafeBufferPointer<UInt8>, _ isDirectory: Bool
    ) -> IgnorePattern? {
        if let pattern = given.deciding(path, isDirectory: isDirectory) { return pattern }
        for list in files.reversed() {
            if let pattern = list.deciding(path, isDirectory: isDirectory) { return pattern }
        }
        return nil
    }
}

/// Patterns of one file or one command line; the last match decides.
struct IgnoreList: Sendable, Hashable {
    /// The path of the directory below which they apply; empty for all.
    private let base: [UInt8]
    private let patterns: [IgnorePattern]

    init(_ patterns: [IgnorePattern]) {
        base = []
        self.patterns = patterns
    }

    /// Reads lines as git does: skips empty ones and comments, and strips trailing spaces unless escaped.
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
