import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `rollback`: back to what is known to be good.
    static let rollback = Command(
        "rollback", summary: "goes back to the newest known good version",
        discussion: """
            The newest known good version becomes current, else what was current before the version on \
            trial, else the embedded one. The version that was current is banned, by its content: it is not activated again until castree forgive. \
            Of a reason the first 1,000 bytes are kept.

                castree rollback --reason "white page on iPad"
            """,
        options: [
            .text(
                "reason", placeholder: "TEXT", "why, for whoever asks later",
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

    /// `forgive`: lifts a ban.
    static let forgive = Command(
        "forgive", summary: "lifts the ban of a version",
        discussion: """
            A version that was rolled back is banned; forgiven, it may be activated again, and none of its \
            failed starts counts any more.

                castree forgive 42 && castree activate 42
            """,
        arguments: [.version]
    ) { invocation in
        let name = try invocation.version()
        try invocation.openRecordingStore().forgive(name)
        return try invocation.report("Version \(name) is forgiven.") { writer in
            writer.member("version", name)
        }
    }
}
