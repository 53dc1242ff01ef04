internal import CASStore
internal import VersionTree

extension Command {
    /// `du`: who uses how much.
    package static func usage(from source: StoreSource) -> Command {
        Command(
            "du", summary: "shows what the store and its versions take",
            discussion: """
                A version's unique bytes are what retiring it would free; its shared bytes are used by \
                other versions too. Apparent bytes are what plain copies would take.

                The versions that cost most, and the largest 20 objects:
                    \(source.example("du --largest 20"))
                """,
            arguments: source.arguments + [
                Argument(
                    "VERSION", "only these versions", .any, completion: .versions(from: source))
            ],
            options: [
                .integer(
                    "largest", in: 0...100_000, "how many of the largest objects to show",
                    fallback: 10)
            ],
            exitStatusHelp: ExitStatus.standardHelp, statuses: .standard
        ) { invocation in
            let versions = try invocation.openStore(from: source)
            // First, because it may say that there is no such version.
            let usages = try versions.usage(of: invocation.arguments("VERSION"))
            let figures = UsageFigures(
                store: try versions.store.usage(), versions: usages,
                largest: try versions.largest(limit: try invocation.integer("largest") ?? 10))
            try invocation.report { writer in
                writer.object { figures.write(to: &$0) }
            } text: { output in
                figures.print(to: output, invocation.sizes)
            }
            return .done
        }
    }
}
