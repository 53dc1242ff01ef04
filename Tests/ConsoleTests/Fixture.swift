import StrictJSON

@testable import Console
@testable import StoreCommands

/// A program with the shapes of the contract: commands that print what they were given.
enum Fixture {
    static let program = Program(
        "castree", version: "1.2.3", summary: "keeps every version of an app once",
        options: [store, .json, .quiet],
        commands: [
            add, cat, checkout, serve, du, fsck, echo("init"), echo("versions"), echo("activate"),
            fail,
        ],
        statuses: ExitStatuses(help: [(.done, "done"), (.failed, "the operation failed")]))

    static let checker = Program(
        "castree-fsck", version: "1.2.3", summary: "checks a store", options: [.json, .quiet],
        commands: ["check", "repair", "gc", "du"].map { name in
            Command(
                name, summary: "does \(name)", arguments: [Argument("STORE", "the store")],
                options: name == "check" ? [.flag("deep", "hashes everything")] : [],
                run: printed)
        },
        defaultCommand: "check", statuses: .check)

    static let store = Option.text(
        "store", placeholder: "DIR", "the store", environment: "CASTREE_STORE",
        fallback: ".castree", completion: .directories)

    private static let add = Command(
        "add", summary: "imports a directory as a version",
        discussion: """
            Hashes every file, stores what is new and registers the version.

                castree add build --version 2.1 --activate
            """,
        arguments: [Argument("DIR", "the directory", completion: .directories)],
        options: [
            .text("version", placeholder: "NAME", "the name of the version", required: true),
            .flag("activate", "make it current"), .flag("no-cache", "read every file"),
        ],
        run: printed)

    private static let cat = Command(
        "cat", summary: "prints bytes", arguments: [Argument("WHAT", "the object")], run: printed)

    private static let checkout = Command(
        "checkout", summary: "makes a tree elsewhere",
        arguments: [
            Argument(
                "VERSION", "the version",
                completion: .words { context in
                    ["2.0", "2.1", "\u{1B}[2J", context.value("store") ?? "no store"]
                }),
            Argument("TARGET", "the new directory", completion: .directories),
        ],
        options: [.choice("mode", of: ["link", "reflink", "copy"], "how", fallback: "link")],
        run: printed)

    private static let serve = Command(
        "serve", summary: "serves the current version",
        options: [
            .integer("port", in: 0...65535, "the port", fallback: 0),
            .text("header", placeholder: "TEXT", "a header to add", repeats: true),
            .text(
                "when", placeholder: "WHEN", "when",
                completion: .fixed("now", "background:", "key=")
            ),
        ],
        run: printed)

    private static let du = Command(
        "du", summary: "shows who uses how much",
        arguments: [Argument("VERSION", "the versions", .any)],
        options: [.bytes, .text("html", placeholder: "FILE", "the page", completion: .files)]
    ) { invocation in
        try invocation.report { writer in
            writer.member("size", 12_897_485)
        } text: { output in
            output.print("\(invocation.sizes.text(12_897_485))")
        }
        return .done
    }

    private static let fsck = Command(
        "fsck", summary: "checks everything", options: [.flag("deep", "hashes everything")],
        statuses: .check, run: printed)

    private static let kinds: [String: ExitStatus] = [
        "failed": .failed, "usage": .usage, "notFound": .notFound, "interrupted": .interrupted,
    ]

    /// Throws an error of the kind named; another word is an error that nobody knows.
    private static let fail = Command(
        "fail", summary: "fails", arguments: [Argument("KIND", "how")]
    ) { invocation in
        let name = invocation.argument("KIND")
        guard let kind = kinds[name] else {
            if name == "cancelled" { throw CancellationError() }
            throw UnknownError(word: name)
        }
        throw CommandError(kind, code: "no-such-\(name)", message: "no \(name) at 'x'")
    }

    private static func echo(_ name: String) -> Command {
        Command(
            name, summary: "does \(name)", arguments: [Argument("WORD", "any", .any)], run: printed)
    }

    @Sendable private static func printed(_ invocation: Invocation) throws -> ExitStatus {
        var parts = [invocation.command.name] + invocation.operands
        for option in invocation.command.options + invocation.program.options {
            if option.takesValue {
                let values = invocation.values(option.name)
                if !values.isEmpty {
                    parts.append("\(option.name)=\(values.joined(separator: "+"))")
                }
            } else if invocation.flag(option.name) {
                parts.append(option.name)
            }
        }
        invocation.output.print("\(parts.joined(separator: " "))")
        return .done
    }
}

struct UnknownError: Error {
    let word: String
}

/// What a program did with a command line.
struct Outcome {
    let status: Int32
    let output: String
    let errors: String
}

extension Surroundings {
    /// Makes surroundings in memory.
    init(environment: [String: String] = [:]) {
        self.init(
            output: Output(), errors: Output(), environment: { environment[$0] }, statusLine: nil,
            now: { .zero })
    }
}

extension Program {
    /// Runs a command line in memory; words are separated by spaces.
    func outcome(of line: String, environment: [String: String] = [:]) -> Outcome {
        outcome(of: line.split(separator: " ").map(String.init), environment: environment)
    }

    func outcome(of arguments: [String], environment: [String: String] = [:]) -> Outcome {
        let surroundings = Surroundings(environment: environment)
        let status = run(arguments, in: surroundings)
        return Outcome(
            status: status.rawValue,
            output: String(decoding: surroundings.output.pending, as: UTF8.self),
            errors: String(decoding: surroundings.errors.pending, as: UTF8.self))
    }
}
