import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let protect = Command(
        "protect", summary: "keeps a version from being retired",
        discussion: """
            Until 'castree unprotect', neither 'gc --keep' nor an app's own clean-up retires the \
            version, and 'castree retire' refuses to. 'castree serve --shell VERSION' protects its \
            version automatically.

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

    static let unprotect = Command(
        "unprotect", summary: "removes the protection of a version",
        discussion: """
            The version itself stays; castree retire removes it.

                castree unprotect www && castree retire www
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        try invocation.openRecordingStore().unprotect(name)
        return try invocation.report("Version \(name) is no longer protected.") { writer in
            writer.member("version", name)
            writer.member("protected", false)
        }
    }
}
