import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `boot`: the app starts.
    static let boot = Command(
        "boot", summary: "counts a start of the app, and says which version to start",
        discussion: """
            Run it when the app starts, before anything of a version is shown. It records the attempt \
            durably, switches to a pending version, and rolls back from a version that was started \
            before and never confirmed. The first time that version waits, unless a newer one does, and \
            the next boot but one tries it again; after --strikes failed starts it is banned, until castree forgive. A start \
            that a reboot has ended does not count, unless it is the third in a row. Content that is \
            known good under another name needs no trial.

            A start that a running server watches is the server's to judge: boot then prints its token.

                castree boot --json
                castree confirm 42 --token TOKEN
            """,
        options: [
            .integer(
                "strikes", in: 1...100,
                "how many starts of a version may fail before it is banned", fallback: 2)
        ]
    ) { invocation in
        let strikes = try invocation.integer("strikes") ?? Lifecycle.usualStrikes
        let boot = try invocation.openRecordingStore().boot(strikes: strikes)
        return try invocation.report { writer in
            writer.member("version", boot.version)
            writer.member("token", boot.token)
            writer.member("rolledBackFrom", boot.rolledBackFrom)
            if boot.rolledBackFrom != nil { writer.member("banned", boot.isBanned) }
        } text: { output in
            if let from = boot.rolledBackFrom {
                let fate =
                    boot.isBanned
                    ? "it is banned (castree forgive)"
                    : boot.isWaiting
                        ? "the next boot tries it again"
                        : "it does not wait for another start (castree activate)"
                output.print(
                    "Rolled back from version \(from): \(boot.reason ?? "it has failed"); \(fate).")
            }
            output.print("Start version \(boot.version). Once it runs well:")
            output.print("    castree confirm \(boot.version) --token \(boot.token)")
        }
    }

    /// `confirm`: it started well.
    static let confirm = Command(
        "confirm", summary: "vouches for the version that started",
        discussion: """
            Version and token must be those that castree boot printed, so that a late confirmation \
            never vouches for another version. Saying it twice changes nothing.

                castree confirm 42 --token 0f9c2b7a
            """,
        arguments: [.version],
        options: [
            .text("token", placeholder: "TOKEN", "what castree boot printed", required: true)
        ]
    ) { invocation in
        let token = try invocation.requiredValue("token")
        let name = try invocation.version()
        let knownGood = try invocation.openRecordingStore().confirm(name, token: token)
        return try invocation.report("Version \(knownGood) is known to be good.") { writer in
            writer.member("knownGood", knownGood)
        }
    }
}
