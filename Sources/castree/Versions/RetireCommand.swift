import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `retire`: forgets a version.
    static let retire = Command(
        "retire", summary: "forgets a version",
        discussion: """
            Deletes the version's tree and its manifest. What only it used becomes garbage, which \
            castree gc deletes. The current, the pending, the embedded, a protected and the last \
            known good version cannot be retired.

                castree retire 40 && castree gc
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        let references = try invocation.openRecordingStore().retire(name)
        return try invocation.report(
            """
            Retired version \(name), which used \(counted(references, "object")); \
            castree gc deletes what nothing else uses.
            """
        ) { writer in
            writer.member("version", name)
            writer.member("references", references)
        }
    }
}
