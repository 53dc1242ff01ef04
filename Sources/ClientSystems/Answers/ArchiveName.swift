import HotPush
import Platform

/// The file name of a composed archive in URLs, which names everything that determines its bytes.
///
/// `<content>.zip`, or `<content>.from.<content>.zip` for a difference. After the first address follow, separated by
/// dots, the id inside the archive and a digest of its signature, if it depends on them.
struct ArchiveName: Hashable, CustomStringConvertible {
    var content: ObjectID
    var details: [String]
    /// The content that a client must already have; `nil` for a whole archive.
    var base: ObjectID?

    /// - Parameter signature: distinguishes archives that differ only in it, by 16 digits of its SHA-256.
    init(
        _ content: ObjectID, details: [String] = [], signature: String? = nil
    ) throws(StoreError) {
        self.content = content
        self.details = details
        guard let signature else { return }
        let digest = try ObjectID(of: Array(signature.utf8)).description
        self.details.append(String(digest.prefix(16)))
    }

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

    func text(suffix: String) -> String {
        var parts = [content.description] + details
        if let base { parts += ["from", base.description] }
        return (parts + [suffix]).joined(separator: ".")
    }
}
