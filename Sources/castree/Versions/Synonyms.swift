import Console
import StoreCommands

extension Command {
    /// Other words for commands, for hands that are used to them.
    static var synonyms: [Command] {
        [
            list.synonym("ls"), list, retire.synonym("rm"), activate.synonym("use"),
        ]
    }

    /// `list`: the versions, or what is in one.
    private static let list = Command(
        "list", summary: "the same as versions; with VERSION, as show",
        discussion: """
            Lists the versions, or the files of one version.

                castree list
                castree list 42
            """,
        arguments: [Argument("VERSION", "the version's name", .optional, completion: .versions())]
    ) { invocation in
        let command: Command = invocation.optionalArgument("VERSION") == nil ? .versions : .show
        return try command.run(invocation)
    }
}
