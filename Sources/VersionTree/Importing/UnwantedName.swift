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
