import CASStore
import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let initialize = Command(
        "init", summary: "creates a store",
        discussion: """
            The directory must be new or empty; an existing store is left unchanged. 'castree add' \
            and 'castree pull' also create a missing store.

                castree init
                castree --store /srv/app-store init
            """,
        options: [.withoutSync]
    ) { invocation in
        let path = try invocation.storePath()
        let options = try invocation.storeOptions(isDurable: !invocation.flag("no-sync"))
        let (versions, isNew) = try VersionStore.create(at: path, options: options)
        if isNew { _ = versions.store.keepsModes }
        return try invocation.report(
            isNew ? "Created the store \(path)." : "The store \(path) already exists."
        ) { writer in
            writer.member("store", versions.store.path)
            writer.member("format", Store.formatVersion)
            writer.member("created", isNew)
        }
    }
}
