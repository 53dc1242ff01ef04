import Console
import Platform
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let checkout = Command(
        "checkout", summary: "builds a version's tree in another directory",
        discussion: """
            TARGET must not exist. It appears complete, in one step.

            With --mode link, the files are the store's own: they take no space and are read-only. \
            Never write to them. For a writable tree use reflink (copy-on-write if the file system \
            supports it, otherwise a copy) or copy. The default is link, but reflink for root in \
            another user's store, because the store's owner could change linked files.

            Files that are copied, or that another program has touched, are read and compared with \
            their addresses, and a damaged object ends the command. Other linked and cloned files \
            are as sound as the store (castree fsck).

                castree checkout 42 /srv/www --mode reflink
            """,
        arguments: [.version, Argument("TARGET", "the directory to create", completion: .files)],
        options: [
            .choice(
                "mode", of: LinkMode.allCases.map(\.rawValue),
                "how to create the files; link by default, reflink for root in another user's store"
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
