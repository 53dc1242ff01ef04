import HotPush
import Platform

/// The file name of a composed archive in URLs: it names everything the archive is made from, so its bytes never
/// change.
///
/// `<content>.zip`, `<content>.from.<content>.zip` for a difference; after the first address, with dots, what else the
/// archive depends on: the id that is in it, and a digest of its signature.
struct ArchiveName: Hashable, CustomStringConvertible {
    /// The content that the archive leads to.
    var content: ObjectID
    /// The other things it depends on.
    var details: [String]
    /// The content that a client must have to use it; `nil` for a whole archive.
    var base: ObjectID?

    /// - Parameter signature: tells archives apart that differ in it alone, by 16 digits of its SHA-256.
    init(
        _ content: ObjectID, details: [String] = [], signature: String? = nil
    ) throws(StoreError) {
        self.content = content
        self.details = details
        guard let signature else { return }
        let digest = try ObjectID(of: Array(signature.utf8)).description
        self.details.append(String(digest.prefix(16)))
    }

    /// Reads a name; `nil` if the text is none.
    init?(_ text: String, suffix: String = "zip") {
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

    var description: String { text(suffix: "zip") }

    /// The name with another ending, for a document that goes with the archive.
    func text(suffix: String) -> String {
        var parts = [content.description] + details
        if let base { parts += ["from", base.description] }
        return (parts + [suffix]).joined(separator: ".")
    }
}
