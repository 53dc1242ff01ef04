/// What a command takes besides options, as the table declares it.
package struct Argument: Sendable {
    /// How many operands an argument stands for.
    package enum Arity: Hashable, Sendable {
        /// Exactly one.
        case one
        /// One or none.
        case optional
        /// None or more.
        case any
        /// One or more.
        case some

        /// Whether it may stand for several.
        var isOpen: Bool { self == .any || self == .some }
    }

    /// The name in help, in capitals: `DIR`.
    package let name: String
    /// What it stands for, in a few words.
    package let summary: String
    /// How many operands it stands for.
    package var arity: Arity
    /// The words it may be, or nil if it may be anything.
    package var choices: [String]?
    /// What a shell offers for it.
    package var completion: Completion

    /// Makes an argument.
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

    /// Whether it must have an operand.
    var isRequired: Bool { arity == .one || arity == .some }

    /// Its part of a usage line.
    var usage: String {
        switch arity {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name)...]"
        case .some: "\(name)..."
        }
    }
}

/// A command of a program, as the table declares it.
///
/// What only its own run or help reads is made when it is read: a program of many commands starts with all of them.
package struct Command: Sendable {
    /// The word that calls it; or two, the first of which it shares with others: `trust add`.
    package let name: String
    /// What it does, in one line without a full stop.
    package let summary: String
    /// What its help teaches, with an example; paragraphs are separated by empty lines, and lines
    /// that begin with a space are printed as they are.
    package var discussion: String { makeDiscussion() }
    /// What it takes besides options, in order; at most one stands for several operands, the last.
    package var arguments: [Argument] { makeArguments() }
    /// Its own options; it takes those of the program, too.
    package var options: [Option] { makeOptions() }
    /// Its exit statuses; nil for the program's.
    package var statuses: ExitStatuses? { makeStatuses() }
    /// Does the work and returns the exit status; whatever it throws is reported.
    package private(set) var run: @Sendable (Invocation) throws -> ExitStatus

    private let makeDiscussion: @Sendable () -> String
    private let makeArguments: @Sendable () -> [Argument]
    private let makeOptions: @Sendable () -> [Option]
    private let makeStatuses: @Sendable () -> ExitStatuses?

    /// Makes a command.
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

    /// Returns the same command under another word.
    package func synonym(_ word: String) -> Command {
        Command(
            word, summary: "the same as \(name)", discussion: discussion, arguments: arguments,
            options: options, statuses: statuses, run: run)
    }

    /// Returns the same command, which throws what the closure makes of each error.
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
