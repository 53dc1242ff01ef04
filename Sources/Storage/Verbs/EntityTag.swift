/// A file's entity tag: equal tags of one key mean equal bytes.
///
/// For a file written in one piece it is usually, but not certainly, the MD5 of its bytes.
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// Without quotes.
    package let bare: String

    package init(_ text: String) {
        let isQuoted = text.utf8.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
        bare = isQuoted ? String(text.dropFirst().dropLast()) : text
    }

    /// As RFC 9110, section 8.8.3, spells it.
    package var quoted: String { "\"\(bare)\"" }

    package var description: String { quoted }

    package func spelled(_ spelling: TagSpelling) -> String {
        switch spelling {
        case .quoted: quoted
        case .bare: bare
        }
    }
}

/// How a store wants the tag in `If-Match`; some accept only the non-standard spelling.
package enum TagSpelling: String, Sendable, Hashable, CaseIterable {
    /// As the standard has it.
    case quoted
    /// Without quotes (Ceph RGW 16 answers 412 to the other).
    case bare
}
