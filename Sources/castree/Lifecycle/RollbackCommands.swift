import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let rollback = Command(
        "rollback", summary: "rolls back to the newest known good version",
        discussion: """
            Use it when the current version turns out to be broken. The newest known good version \
            becomes current, or else the one before the version being tried, or else the embedded \
            one. The content of the broken version is banned: no version with that content is \
            activated until 'castree unban'. The first 1,000 bytes of --reason are kept.

                castree rollback --reason "white page on iPad"
            """,
        options: [
            .text(
                "reason", placeholder: "TEXT", "the reason, which castree lifecycle shows",
                fallback: "rolled back by request")
        ]
    ) { invocation in
        let reason = try invocation.requiredValue("reason")
        let (current, from) = try invocation.openRecordingStore().rollback(reason: reason)
        return try invocation.report(
            "Version \(current) is current again; version \(from) is banned."
        ) { writer in
            writer.member("current", current)
            writer.member("rolledBackFrom", from)
        }
    }

    static let unban = Command(
        "unban", summary: "lifts the ban on a version",
        discussion: """
            A version that failed is banned. Unban it to activate it again; its failed starts no \
            longer count.

                castree unban 42 && castree activate 42
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        try invocation.openRecordingStore().unban(name)
        return try invocation.report("Version \(name) is no longer banned.") { writer in
            writer.member("version", name)
        }
    }
}
