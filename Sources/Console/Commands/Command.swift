/// An operand of a command, as the table declares it.
package struct Argument: Sendable {
    package enum Arity: Hashable, Sendable {
        case one
        case optional
        case any
        case some

        var isOpen: Bool { self == .any || self == .some }
    }

    package let name: String
    package let summary: String
    package var arity: Arity
    /// The permitted words; nil permits anything.
    package var choices: [String]?
    package var completion: Completion

    package init(
        _ name: String, _ summary: String, _ arity: Arity = .one, choices: [String]? = nil,
        completion: Completion = .nothing
    ) {
        self.name = name
        self.summary = summary
        self.arity = arity
        self.choices = choices
        self.completion = completion
    }

    var isRequired: Bool { arity == .one || arity == .some }

    var usage: String {
        switch arity {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name)...]"
        case .some: "\(name)..."
        }
    }
}

/// A command of a program, as the table declares it; parts that only its run or help needs are computed when read.
package struct Command: Sendable {
    /// The word that calls it; or two, the first of which it shares with others: `trust add`.
    package let name: String
    package let summary: String
    /// Paragraphs are separated by empty lines; lines that begin with a space are printed as they are.
    package var discussion: String { makeDiscussion() }
    /// Its operands, in order; only the last may stand for several.
    package var arguments: [Argument] { makeArguments() }
    /// Its own options; it takes those of the program, too.
    package var options: [Option] { makeOptions() }
    package var statuses: ExitStatuses? { makeStatuses() }
    /// Does the work and returns the exit status; whatever it throws is reported.
    package private(set) var run: @Sendable (Invocation) throws -> ExitStatus

    private let makeDiscussion: @Sendable () -> String
    private let makeArguments: @Sendable () -> [Argument]
    private let makeOptions: @Sendable () -> [Option]
    private let makeStatuses: @Sendable () -> ExitStatuses?

    package init(
        _ name: String, summary: String,
        discussion: @autoclosure @escaping @Sendable () -> String = "",
        arguments: @autoclosure @escaping @Sendable () -> [Argument] = [],
        options: @autoclosure @escaping @Sendable () -> [Option] = [],
        statuses: @autoclosure @escaping @Sendable () -> ExitStatuses? = nil,
        run: @escaping @Sendable (Invocation) throws -> ExitStatus
    ) {
        self.name = name
        self.summary = summary
        self.makeDiscussion = discussion
        self.makeArguments = arguments
        self.makeOptions = options
        self.makeStatuses = statuses
        self.run = run
    }

    package func synonym(_ word: String) -> Command {
        Command(
            word, summary: "the same as '\(name)'", discussion: discussion, arguments: arguments,
            options: options, statuses: statuses, run: run)
    }

    /// The same command, with its errors replaced by what the closure makes of them.
    package func translatingErrors(
        _ translate: @escaping @Sendable (any Error) -> any Error
    ) -> Command {
        var command = self
        command.run = { invocation in
            do { return try self.run(invocation) } catch { throw translate(error) }
        }
        return command
    }
}
