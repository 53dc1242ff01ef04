import Console

/// The program that fetches: `castree pull` runs it.
@main
enum PullProgram {
    static func main() {
        Program(
            "castree", version: castreeVersion, summary: "fetches versions from an origin",
            options: [.store, .json, .quiet, .bytes], commands: []
        ).main()
    }
}
