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
            .publish { invocation in
                if let from = try invocation.value("all-of") {
                    return try invocation.copyOrigin(from)
                }
                return try invocation.publish(in: invocation.openBucket)
            },
            .withdraw { try $0.withdraw(in: $0.openBucket) },
            .prune { try $0.prune(in: $0.openBucket) }, .pack { try $0.pack(in: $0.openBucket) },
            .resign { try $0.resign(in: $0.openBucket) },
            .rotateTrust { try $0.rotateTrust(in: $0.openBucket) },
            .originEnable { try $0.enableClients(in: $0.openBucket) },
            .originStatus { try $0.showClients(in: $0.openBucket) },
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
