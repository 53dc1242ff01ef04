import Console
import HotPush
import OriginCommands
import StoreCommands

/// The program that reaches others: `castree pull`, `castree fsck --from URL` and all that is done to buckets run it.
///
/// No other program uses libcurl, so every other command starts without it.
@main
enum PullProgram {
    static let program = Program(
        "castree", version: castreeVersion,
        summary: "fetches versions of an app's content from their origin",
        discussion: """
            This is castree-pull, which castree runs for what needs the network. 'castree --help' \
            lists all commands.
            """,
        options: [.store, .wait, .json, .quiet, .bytes],
        commands: [
            Command.pull { pull in try pull.leavingNoEmptyStore { try pull.pull() } },
            Command.channels { try $0.channels() },
            .publish { try $0.publishToBucket() }, .withdraw { try $0.withdrawFromBucket() },
            .prune { try $0.pruneBucket() }, .pack { try $0.packInBucket() },
            .resign { try $0.resignBucket() }, .rotateTrust { try $0.rotateBucket() },
            .originEnable { try $0.enableClientsInBucket() },
            .originStatus { try $0.showClientsInBucket() },
            .fsck(
                observed: { $0.recordingEvents() }, fetching: originObjects,
                origin: { invocation, origin, options in
                    try invocation.checkOrigin(
                        origin, options, in: { try invocation.openBucket($0) },
                        over: { try invocation.repairTransport(to: $0) })
                }),
            .usage(
                from: .option,
                origin: { invocation, texts in
                    try invocation.originUsage(of: texts, in: { try invocation.openBucket($0) })
                }),
        ].map(\.reportingStoreErrors),
        statuses: .program)

    static func main() {
        program.main()
    }
}
