import Console
import StoreCommands

/// The stand-alone maintenance program, with castree's commands to check, repair, collect and measure a store.
@main
enum CheckingProgram {
    static let program = Program(
        "castree-fsck", version: castreeVersion,
        summary: "checks and maintains a castree store",
        discussion: """
            Every command is safe to run while other programs use the store.

                castree-fsck /srv/app-store
                castree-fsck repair /srv/app-store
                castree-fsck repair /srv/app-store --from https://example.org/app
                castree-fsck gc --dry-run /srv/app-store
            """,
        options: [.wait, .json, .quiet, .bytes],
        commands: (Command.checks(fetching: repairByCastree) + [
            .collect(from: .operand), .usage(from: .operand),
        ])
        .map(\.reportingStoreErrors),
        defaultCommand: "check", statuses: .check)

    static func main() {
        program.main()
    }
}
