import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `protect`: keeps a version.
    static let protect = Command(
        "protect", summary: "keeps a version from being retired",
        discussion: """
            No policy retires a protected version, neither 'gc --keep' nor an app that cleans up after \
            itself, and 'retire' refuses to, until 'castree unprotect'. 'castree serve --shell VERSION' \
            protects its version by itself.

                castree protect www
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        let isNew = try invocation.openRecordingStore().protect(name)
        return try invocation.report(
            isNew ? "Version \(name) is protected now." : "Version \(name) is protected already."
        ) { writer in
            writer.member("version", name)
            writer.member("protected", true)
        }
    }

    /// `unprotect`: lets it go its way again.
    static let unprotect = Command(
        "unprotect", summary: "lets a protected version be retired again",
        discussion: """
            Retires nothing by itself.

                castree unprotect www && castree retire www
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        try invocation.openRecordingStore().unprotect(name)
        return try invocation.report("Version \(name) is not protected any more.") { writer in
            writer.member("version", name)
            writer.member("protected", false)
        }
    }
}
