import HotPush
package import Platform

/// The file name of a composed archive in URLs: it says all that the archive is made from, so it never changes.
///
/// `<content>.zip`, `<content>.from.<content>.zip` for a difference; after the first address, with dots, what else the
/// archive depends on: the id that is in it, and for a signed one ``tag(of:)``.
package struct ArchiveName: Hashable, CustomStringConvertible {
    /// What it leads to.
    package var content: ObjectID
    /// What else it depends on.
    package var details: [String]
    /// What a client must have to use it.
    package var base: ObjectID?

    /// Makes a name.
    package init(_ content: ObjectID, details: [String] = [], from base: ObjectID? = nil) {
        self.content = content
        self.details = details
        self.base = base
    }

    /// Reads a name; `nil` if the text is none.
    package init?(_ text: String, suffix: String = "zip") {
        var parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.popLast() == suffix, let first = parts.first, let content = ObjectID(first)
        else { return nil }
        if parts.count >= 3, parts[parts.count - 2] == "from" {
            guard let base = ObjectID(parts[parts.count - 1]) else { return nil }
            self.base = base
            parts.removeLast(2)
        }
        self.content = content
        details = Array(parts.dropFirst())
    }

    /// What tells archives apart that differ only in a signature: 16 digits of its SHA-256.
    package static func tag(of signature: String) throws(StoreError) -> String {
        String(try ObjectID(of: Array(signature.utf8)).description.prefix(16))
    }

    /// The name as text.
    package var description: String { text(suffix: "zip") }

    /// The name with another ending, for a document that goes with the archive.
    package func text(suffix: String) -> String {
        var parts = [content.description] + details
        if let base { parts += ["from", base.description] }
        return (parts + [suffix]).joined(separator: ".")
    }
}
