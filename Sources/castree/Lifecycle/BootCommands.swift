import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let boot = Command(
        "boot", summary: "counts a start of the app and says which version to start",
        discussion: """
            Run it when the app starts, before it shows any content. It records the \
            start durably and switches to the pending version, if there is one. If the last \
            started version was never confirmed, boot rolls back; the next boot tries that version \
            again unless a newer one is pending. After --strikes failed starts a version is banned \
            until 'castree unban'. A start that a reboot ended does not count, unless it is the \
            third in a row. Content that is known good under another name needs no confirmation.

            A pending mandatory release is started even if the current version is unconfirmed; the \
            current version then counts as neither good nor failed.

            If a running server watches the start, the server judges it, and boot prints the \
            server's token.

                castree boot --json
                castree confirm 42 --token TOKEN
            """,
        options: [.failedAttempts]
    ) { invocation in
        let failedAttempts = try invocation.integer("strikes") ?? Lifecycle.usualFailedAttempts
        let versions = try invocation.openRecordingStore()
        let (boot, isMandatory) = try invocation.start(versions, failedAttempts)
        do {
            let status = try invocation.report(boot, isMandatory: isMandatory)
            try invocation.output.requireReader()
            return status
        } catch let error as OutputError {
            // The caller starts nothing: a full disk or a closed pipe must not count against the version.
            try versions.leave(.unheard(boot.version, token: boot.token))
            throw OutputError(reason: error.reason, consequence: "the start does not count")
        }
    }

    static let confirm = Command(
        "confirm", summary: "marks the started version as working",
        discussion: """
            Run it once the app works. The version becomes known good, and the next boot does not \
            roll it back. VERSION and TOKEN must be those that castree boot printed, so a late \
            confirmation never counts for another version. Confirming twice changes nothing.

                castree confirm 42 --token 0f9c2b7a
            """,
        arguments: [.version],
        options: [
            .text("token", placeholder: "TOKEN", "the token from castree boot", required: true)
        ]
    ) { invocation in
        let token = try invocation.requiredValue("token")
        let name = try invocation.version()
        let knownGood = try invocation.openRecordingStore().confirm(name, token: token)
        return try invocation.report("Version \(knownGood) is known good.") { writer in
            writer.member("knownGood", knownGood)
        }
    }
}

extension Invocation {
    /// Counts a start; while the lifecycle cannot be read, the version shown starts uncounted.
    fileprivate func start(
        _ versions: VersionStore, _ failedAttempts: Int
    ) throws -> (boot: BootReport, isMandatory: Bool) {
        do throws(StoreError) {
            let forced = try versions.prepareForced()
            let boot = try versions.boot(failedAttempts: failedAttempts)
            try versions.clearPendingForced(versions.lifecycle())
            return (boot, boot.version == forced)
        } catch {
            guard error.code == .badLifecycle, let boot = try versions.uncountedBoot() else {
                throw error
            }
            diagnostics.warn(
                code: error.code.description,
                "version \(boot.version), the current one, starts, but the start is not counted: \(error.message)"
            )
            return (boot, false)
        }
    }

    fileprivate func report(_ boot: BootReport, isMandatory: Bool) throws -> ExitStatus {
        try report { writer in
            writer.member("version", boot.version)
            writer.member("token", boot.token)
            writer.member("mandatory", isMandatory)
            writer.member("rolledBackFrom", boot.rolledBackFrom)
            if boot.rolledBackFrom != nil { writer.member("banned", boot.isBanned) }
        } text: { output in
            if let from = boot.rolledBackFrom {
                let fate =
                    boot.isBanned
                    ? "it is banned (castree unban lifts the ban)"
                    : boot.isWaiting
                        ? "the next boot tries it again"
                        : "no boot tries it again (use castree activate)"
                output.print(
                    "Rolled back from version \(from): \(boot.reason ?? "it failed"); \(fate).")
            }
            output.print("Start version \(boot.version). Once it runs well:")
            output.print("    castree confirm \(boot.version) --token \(boot.token)")
        }
    }
}

extension Option {
    static let failedAttempts = integer(
        "strikes", in: 1...100, "ban a version after this many failed starts",
        fallback: Lifecycle.usualFailedAttempts)
}
