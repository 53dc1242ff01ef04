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

/// Names that sources often contain but users do not need; shared by directories and archives.
package enum UnwantedName: Sendable {
    /// Version control data: left out unless a pattern names it.
    case versionControl
    /// `.castreeignore`, which is itself left out.
    case ignoreFile
    /// Files that systems leave behind in directories and archives.
    case junk
    /// Junk if its first bytes are those of an AppleDouble file.
    case perhapsAppleDouble
    /// Possibly secret, or only needed for building.
    case notForUsers

    static let nameOfIgnoreFile = Array(".castreeignore".utf8)

    /// The first bytes of an AppleDouble file (RFC 1740, appendix B).
    package static let appleDouble: [UInt8] = [0x00, 0x05, 0x16, 0x07]

    private static let names: [[UInt8]: UnwantedName] = {
        // Not CVS: a directory may have that name for another reason.
        let kinds: [(UnwantedName, [String])] = [
            (.versionControl, [".git", ".hg", ".svn", ".bzr", ".jj", "_darcs"]),
            (.junk, [".DS_Store", "Thumbs.db", "thumbs.db", "desktop.ini", "Desktop.ini"]),
            (
                .notForUsers,
                [
                    ".env", "node_modules", ".npmrc", ".netrc", ".ssh", ".aws", "id_rsa", "id_dsa",
                    "id_ecdsa", "id_ed25519",
                ]
            ),
        ]
        var names = [nameOfIgnoreFile: UnwantedName.ignoreFile]
        for (kind, all) in kinds { for name in all { names[Array(name.utf8)] = kind } }
        return names
    }()

    private static let firsts = Set(names.keys.compactMap(\.first))
    private static let macOS = Array("__MACOSX".utf8)
    private static let variants = Array(".env.".utf8)
    /// Endings of key files; all have four bytes.
    private static let endings = [".pem", ".key", ".p12", ".pfx", ".jks"].map { Array($0.utf8) }
    private static let appleDoubleMark = Array("._".utf8)

    /// `nil` for an ordinary name.
    /// - Parameter isAtRoot: only at the source's root does macOS put a directory of its own.
    package init?(_ name: UnsafeBufferPointer<UInt8>, isAtRoot: Bool) {
        if let first = name.first, Self.firsts.contains(first),
            let known = Self.names[Array(name)]
        {
            self = known
        } else if name.starts(with: Self.appleDoubleMark) {
            self = .perhapsAppleDouble
        } else if isAtRoot, name.elementsEqual(Self.macOS) {
            self = .junk
        } else if name.starts(with: Self.variants)
            || name.count > 4 && Self.endings.contains(where: name.suffix(4).elementsEqual)
        {
            self = .notForUsers
        } else {
            return nil
        }
    }

    /// Whether a path, which may end with a slash, leads to version control data.
    package static func isVersionControl(_ path: String) -> Bool {
        names[path.utf8.split(separator: 47).last.map { Array($0) } ?? []] == .versionControl
    }

    /// Paths, sorted, without those below a directory among them; a directory ends with a slash.
    package static func outermost(_ paths: some Sequence<String>) -> [String] {
        var kept: [String] = []
        for path in paths.sorted() {
            if let last = kept.last, path == last || last.utf8.last == 47 && path.hasPrefix(last) {
                continue
            }
            kept.append(path)
        }
        return kept
    }
}

/// A file that marks a directory as castree's own; no version may contain it.
package struct OwnMark: Sendable {
    package let start: [UInt8]
    private let what: String

    private static let all: [[UInt8]: OwnMark] = [
        Array(StoreLayout.format.utf8): OwnMark(start: Array("castree ".utf8), what: "a store"),
        Array(originName.utf8): OwnMark(
            start: Array(#"{"castreeOrigin":"#.utf8), what: "an origin"),
    ]
    fileprivate static let originName = "origin.json"

    private init(start: [UInt8], what: String) {
        self.start = start
        self.what = what
    }

    /// The mark that a file of this name may be; `nil` for any other name.
    package init?(of name: some Sequence<UInt8>) {
        guard let mark = Self.all[Array(name)] else { return nil }
        self = mark
    }

    func isMark(_ name: String, in directory: Int32, _ fileSystem: any FileSystem)
        throws(StoreError) -> Bool
    {
        guard try fileSystem.status(directory, name)?.kind == .regular else { return false }
        let file = try fileSystem.open(directory, name, .reading, mode: 0)
        guard try fileSystem.status(file.raw).byteCount >= start.count else { return false }
        return try fileSystem.read(file.raw, at: 0, count: start.count) == start
    }

    /// Why the directory is refused, as the end of a sentence.
    package var objection: String {
        "it is \(what) of castree's, which no version holds; move it elsewhere, or leave it out by --exclude"
    }
}

extension FileSystem {
    /// The kind of castree's own directory that this is or is inside ("a store", "an origin"); `nil` outside of both.
    package func ownPlace(around directory: Int32) throws(StoreError) -> String? {
        let mark = OwnMark(of: OwnMark.originName.utf8)
        var found: String?
        _ = try anyAncestor(of: directory) { (directory, _) throws(StoreError) in
            if try isStore(directory) {
                found = "a store"
            } else if try mark?.isMark(OwnMark.originName, in: directory, self) == true {
                found = "an origin"
            }
            return found != nil
        }
        return found
    }
}
