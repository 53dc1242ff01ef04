import Console
import Platform
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let diff = Command(
        "diff", summary: "shows what changed from one version to another",
        discussion: """
            Prints a line for each file: A added, D deleted, M modified, R renamed. The last line \
            gives the size of the content that only the newer version has. A download is smaller, \
            because of packs (castree du ORIGIN, castree pull --dry-run).

                castree diff 41 42
            """,
        arguments: [
            Argument("A", "the older version", completion: .versions()),
            Argument("B", "the newer version", completion: .versions()),
        ]
    ) { invocation in
        let names = (old: try invocation.version("A"), new: try invocation.version("B"))
        let diff = try invocation.openStore().diff(from: names.old, to: names.new)
        return try invocation.report { writer in
            writer.member("added", diff.added)
            writer.member("removed", diff.removed)
            writer.member("changed", diff.changed)
            writer.member("moved", diff.moved) { writer, move in
                writer.member("from", move.from)
                writer.member("to", move.to)
            }
            writer.member("newBytes", diff.newBytes)
        } text: { output in
            diff.print(to: output, invocation.sizes)
        }
    }
}

extension VersionDiff {
    fileprivate func print(to output: Output, _ sizes: SizeStyle) {
        var lines: [(path: String, text: DisplayText)] = []
        lines += added.map { ($0, "\("A", .green) \($0)") }
        lines += removed.map { ($0, "\("D", .red) \($0)") }
        lines += changed.map { ($0, "\("M", .yellow) \($0)") }
        lines += moved.map { ($0.to, "R \($0.from) -> \($0.to)") }
        lines.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        for line in lines { output.print(line.text) }
        guard !lines.isEmpty else {
            output.print("No difference.")
            return
        }
        output.print(
            """
            \(groupedCount(added.count)) added, \(groupedCount(removed.count)) removed, \
            \(groupedCount(changed.count)) changed, \(groupedCount(moved.count)) moved; \
            \(sizes.text(newBytes)) of new content.
            """)
    }
}
