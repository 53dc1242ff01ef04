import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let checkout = Command(
        "checkout", summary: "builds a version's tree elsewhere",
        discussion: """
            TARGET must not exist yet; it appears in one step, complete.

            With --mode link, its files are the store's own: they take no space and are read-only. \
            Never write to them. For a tree to write to, use reflink (copy-on-write if the file \
            system can, else a copy) or copy. Without --mode, root in another user's store gets \
            reflink: what is linked, the store's owner can change.

            Only what is copied, or was changed by another program, is read and compared with its \
            address: a damaged object ends the command. Other linked and cloned files are as sound \
            as the store (castree fsck).

                castree checkout 42 /srv/www --mode reflink
            """,
        arguments: [.version, Argument("TARGET", "the directory to create", completion: .files)],
        options: [
            .choice(
                "mode", of: LinkMode.allCases.map(\.rawValue),
                "how to make the files; link if not given, reflink for root in another user's store"
            )
        ]
    ) { invocation in
        let name = try invocation.version()
        let target = invocation.argument("TARGET")
        let versions = try invocation.openStore()
        let mode = try invocation.value("mode").flatMap(LinkMode.init) ?? versions.checkoutMode
        let tree = try versions.checkout(name, to: target, mode: mode)
        return try invocation.report(
            "Built \(target): \(counted(tree.files, "file")) of version \(name)\(tree.ways)."
        ) { writer in
            writer.member("version", name)
            writer.member("target", target)
            writer.member("mode", mode.rawValue)
            writer.member("files", tree.files)
            writer.member("linked", tree.linked)
            writer.member("copied", tree.copied)
            writer.member("reflinked", tree.reflinked)
        }
    }
}

extension TreeReport {
    fileprivate var ways: String {
        let ways = [(linked, "linked"), (reflinked, "cloned"), (copied, "copied")]
            .filter { $0.0 > 0 }
        if ways.count == 1, let way = ways.first { return ", all \(way.1)" }
        return ways.map { ", \(groupedCount($0.0)) \($0.1)" }.joined()
    }
}
