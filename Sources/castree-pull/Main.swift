import Console
import HotPush
import StoreCommands

/// The program that fetches: `castree pull` and `castree fsck --from URL` run it.
///
/// No other program uses libcurl, so every other command starts without it.
@main
enum PullProgram {
    static let program = Program(
        "castree", version: castreeVersion,
        summary: "fetches versions of an app's content from their origin",
        options: [.store, .wait, .json, .quiet, .bytes],
        commands: [
            Command.pull { try $0.pull() },
            Command.channels { try $0.channels() },
            .fsck(observed: { $0.recordingEvents() }, fetching: originObjects),
        ].map(\.reportingStoreErrors),
        statuses: .store)

    static func main() {
        program.main()
    }
}
