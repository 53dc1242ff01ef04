import Console
import OriginCommands
import StoreCommands

/// The program that answers the clients of other systems: `castree origin serve` and `castree origin answer` run it.
///
/// It links the server and the systems' rules, which no other command needs; it has no network of its own and no store.
@main
enum OriginProgram {
    static let program = Program(
        "castree", version: castreeVersion,
        summary: "answers the clients of other systems from an origin",
        discussion: """
            This is castree-origin, which castree runs for 'origin serve' and 'origin answer'. \
            'castree --help' lists all commands.
            """,
        options: [.store, .wait, .json, .quiet, .bytes],
        commands: [
            Command.originServe { try $0.serveOrigin() },
            .originAnswer { try $0.answerOrigin() },
        ].map(\.reportingStoreErrors),
        statuses: .store)

    static func main() {
        program.main()
    }
}
