import Console
import Platform
import VersionTree

extension Invocation {
    /// The patterns of `--exclude`.
    /// - Throws: `usage` for one that can match nothing.
    func excluded() throws(CommandError) -> [String] {
        let patterns = values("exclude")
        do throws(StoreError) {
            _ = try SourceRules(excluding: patterns)
        } catch {
            throw .usage("--exclude: \(error.message)")
        }
        return patterns
    }

    /// Reports which files were left out by default, and which were included but look as if they were not for users.
    func note(leftOut: [String], unwanted: [String]) {
        let own = leftOut.filter(UnwantedName.isVersionControl)
        if !own.isEmpty {
            note(
                "\(list(own)) left out as version control; --exclude '!NAME' includes it"
            )
        }
        if !unwanted.isEmpty {
            note(
                "\(list(unwanted)) in the version, and probably not for users; leave such files out with --exclude PATTERN, a .castreeignore or --skip-junk, or confirm them with --exclude '!PATTERN'"
            )
        }
    }

    private func list(_ paths: [String]) -> String {
        let shownCount = 4
        var parts = paths.prefix(shownCount).map { printable($0) }
        if paths.count > shownCount { parts.append("\(paths.count - shownCount) more") }
        let isOne = parts.count == 1
        return parts.joined(separator: ", ") + (isOne ? " is" : " are")
    }
}
