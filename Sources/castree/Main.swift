import Console
import HotPush
import Origin
import StoreCommands
import UsagePage

/// The program: a table of commands, each of which calls the library and prints the result.
@main
enum CastreeProgram {
    static let program = Program(
        "castree", version: castreeVersion,
        summary: "stores every version of an app's content, identical files only once",
        discussion: """
            A version is a named directory of files. Versions share identical files. Each version \
            is a real directory of hard links; one version is current.

                castree add ./build-41 --version 41
                castree add ./build-42 --version 42 --activate
                castree versions
                ls .castree/current/

            The store is --store DIR, else $CASTREE_STORE, else .castree. If there is no .castree \
            here, castree uses the nearest .castree further up that is yours and on the same file \
            system, and says so. Only init, add, adopt, \
            pull, trust add and serve --updates create a store here.
            """,
        options: [.store, .wait, .json, .quiet, .bytes],
        commands: commands.map(\.reportingStoreErrors),
        statuses: .program)

    private static var commands: [Command] {
        [
            .initialize, .add, .adopt, .versions, .show, .diff, .missing, .cat, .checkout,
            .activate, .lifecycle, .boot, .confirm, .rollback, .unban, .protect,
            .unprotect, .retire, .status, .log,
            .pull, .serve, .publish, .pack, .withdraw, .prune, .newKey, .showKey, .resign,
            .rotateTrust,
            .originEnable, .originStatus, .originServe, .originAnswer, .channels,
            .collect(from: .option, observed: { $0.recordingEvents() }),
            .fsck(
                observed: { $0.recordingEvents() }, fetching: originObjects,
                origin: { try $0.checkOrigin($1, $2) }),
            .usage(
                from: .option, page: { try UsagePage.html($0) },
                origin: { try $0.originUsage(of: $1) }), .report,
        ] + Command.trusting + Command.synonyms
    }

    static func main() {
        program.main()
    }
}
