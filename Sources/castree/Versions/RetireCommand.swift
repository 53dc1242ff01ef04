import CASStore
import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let retire = Command(
        "retire", summary: "forgets a version",
        discussion: """
            Deletes the version's tree and its manifest, and prints how much castree gc can then \
            free. The current, pending, embedded, last known good and \
            protected versions cannot be retired, nor the version to roll back to while another is tried; \
            the message says how to proceed.

                castree retire 40 && castree gc
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        let versions = try invocation.openRecordingStore()
        // The freed bytes come from the index; a version is also retired without it.
        let freed = try ifPossible { () throws(StoreError) in
            try versions.store.freed(retiring: [name])
        }
        let references = try versions.retire(name)
        let used = "Retired version \(name), which used \(counted(references, "object"))"
        let text =
            switch freed {
            case nil: "\(used); castree gc deletes what nothing else uses."
            case (_, [], _)?: "\(used); other versions use them, too."
            case (_, let objects, let bytes)?:
                "\(used). castree gc now frees what only this version used: "
                    + "\(counted(objects.count, "object")), \(invocation.sizes.text(bytes))."
            }
        return try invocation.report("\(text)") { writer in
            writer.member("version", name)
            writer.member("references", references)
            guard let freed else { return }
            writer.member("unusedObjects", freed.objects.count)
            writer.member("unusedBytes", freed.bytes)
        }
    }
}
