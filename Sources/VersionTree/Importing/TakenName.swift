import CASStore

/// Why a directory cannot have a name: what the version of that name shows, and what differs.
///
/// A store that holds wrong bytes under a name (an older castree believed times that proved nothing) refuses
/// the right ones in the same way; so the message names the files and tells how to replace the version.
enum TakenName {
    /// How many paths are named, and how many characters of each are shown.
    private static let (pathsMax, lengthMax) = (5, 160)

    static func sentence(_ name: String, _ diff: VersionDiff) -> String {
        var parts: [String] = []
        parts += part("other bytes or another mode", diff.changed)
        parts += part("only in the directory", diff.added)
        parts += part("only in the version", diff.removed)
        parts += part("under another path", diff.moved.map { "\($0.from) → \($0.to)" })
        let differing =
            parts.isEmpty
            ? "its files are the same, but what it says about them differs"
            : "what differs: " + parts.joined(separator: "; ")
        return
            "version \(name) exists with other content (\(differing)); choose another name, or, to "
            + "replace it, retire it (castree retire \(name)) and repeat the command"
    }

    private static func part(_ what: String, _ paths: [String]) -> [String] {
        guard !paths.isEmpty else { return [] }
        var shown = paths.prefix(pathsMax).map { path in
            let text = printable(path)
            let isLong = text.count > lengthMax
            return "\"" + (isLong ? text.prefix(lengthMax) + "…" : text) + "\""
        }
        if paths.count > pathsMax { shown.append("and \(paths.count - pathsMax) more") }
        return ["\(what): " + shown.joined(separator: ", ")]
    }
}

extension VersionStore {
    /// The error of an add whose name is taken, with the differences as far as they can be told.
    func explained(_ error: StoreError, adding manifest: Manifest) -> StoreError {
        let name = manifest.version.description
        // A name that differs in case, or an unreadable manifest: the error already says what there is to say.
        guard error.code == .versionExists, let old = try? self.manifest(of: name) else {
            return error
        }
        let diff = VersionDiff(from: old, to: manifest)
        return StoreError(.versionExists, TakenName.sentence(name, diff))
    }
}
