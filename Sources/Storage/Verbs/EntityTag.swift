/// A file's entity tag: equal tags of one key, equal bytes.
///
/// For a file that was written in one piece it is mostly, but not surely, the MD5 of its bytes.
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// Without quotes.
    package let bare: String

    /// Takes the tag of an answer, with or without its quotes.
    package init(_ text: String) {
        let isQuoted = text.utf8.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
        bare = isQuoted ? String(text.dropFirst().dropLast()) : text
    }

    /// As RFC 9110, section 8.8.3, spells it.
    package var quoted: String { "\"\(bare)\"" }

    /// With quotes.
    package var description: String { quoted }

    /// In that spelling.
    package func spelled(_ spelling: TagSpelling) -> String {
        switch spelling {
        case .quoted: quoted
        case .bare: bare
        }
    }
}

/// How a store wants the tag in `If-Match`: some take only the one that the standard does not know.
package enum TagSpelling: String, Sendable, Hashable, CaseIterable {
    /// As the standard has it.
    case quoted
    /// Without quotes (Ceph RGW 16 answers 412 to the other).
    case bare
}
