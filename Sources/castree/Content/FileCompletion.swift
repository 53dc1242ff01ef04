import CASStore
import Console
import StoreCommands
import VersionTree

extension Completion {
    /// Completes `VERSION:PATH`: first the versions, then the paths in one, level by level.
    static let filesOfVersions = Completion.words { context in
        // A completion needs words or nothing, not an error.
        guard let store = context.store() else { return [] }
        guard let colon = context.current.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            // As above.
            return ((try? store.store.manifestNames()) ?? []).map { $0 + ":" }
        }
        let version = String(context.current[..<colon])
        // As above.
        guard let manifest = try? store.manifest(of: version) else { return [] }
        let typed = context.current.utf8[context.current.utf8.index(after: colon)...]
        let directory =
            typed.lastIndex(of: UInt8(ascii: "/")).map { typed[...$0] } ?? typed.prefix(0)
        var words: [String] = []
        for entry in manifest.entries {
            let path = entry.path.description.utf8
            guard path.starts(with: typed) else { continue }
            let rest = path.dropFirst(directory.count)
            let end = rest.firstIndex(of: UInt8(ascii: "/")).map { rest.index(after: $0) }
            let word = "\(version):\(Substring(path[..<(end ?? path.endIndex)]))"
            // The entries are sorted: those of a directory follow each other.
            if words.last != word { words.append(word) }
        }
        return words
    }
}
