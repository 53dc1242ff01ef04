package import CASStore

/// What of a source becomes part of a version, and what is left out: a value that directories and archives obey.
///
/// First the patterns that were given, then those of the `.castreeignore` files, the deepest first; in each the last that
/// matches decides. What no pattern matches is taken, but for what belongs to version control, the `.castreeignore`
/// files themselves and, if so asked, junk.
package struct SourceRules: Sendable, Hashable {
    private let given: IgnoreList
    private var files: [IgnoreList] = []
    /// Whether junk is left out.
    package let skipsJunk: Bool

    /// What becomes of a path.
    package enum Verdict: Sendable {
        case taken
        /// Taken, and probably not meant.
        case takenUnwanted
        /// Junk if its first bytes are those of an AppleDouble file, and taken otherwise.
        case asItBegins
        case leftOut
    }

    /// Makes rules.
    /// - Parameters:
    ///   - patterns: what to leave out, each by the rules of gitignore(5); the last that matches decides.
    ///   - skipsJunk: leave out what systems leave behind, such as `.DS_Store`.
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

    /// Adds what a `.castreeignore` says of what is below the directory in which it stands.
    package mutating func obey(_ lines: [UInt8], in directory: [UInt8]) {
        files.append(IgnoreList(lines: lines, in: directory))
    }

    /// What becomes of a path whose directory is taken.
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

    /// What becomes of what is junk.
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
