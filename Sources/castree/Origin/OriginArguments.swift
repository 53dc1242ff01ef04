import CASStore
import Console
import HotPush
import StoreCommands

extension Argument {
    /// The directory of an origin.
    static let originDirectory = Argument(
        "ORIGIN", "the origin's directory or file: URL, or s3://BUCKET/PREFIX",
        completion: .directories)
}

extension Option {
    /// `--channel NAME`.
    static let channel = Option.text(
        "channel", placeholder: "NAME", "the channel of the origin",
        fallback: ChannelName.stable.description)
    /// `--no-wait`: another publisher is an error.
    static let noWait = Option.flag(
        "no-wait", "fail at once if another publisher is at work")
}

extension Invocation {
    /// The channel that the command works on.
    ///
    /// - Throws: `usage` for a name that no channel can have.
    func channel() throws -> ChannelName {
        let given = try requiredValue("channel")
        return try parsed { () throws(StoreError) in try ChannelName(given) }
    }
}

extension Command {
    /// The same command; it exits with `notFound` for what the origin does not have.
    var reportingAbsence: Command {
        translatingErrors { error in
            guard let error = error as? StoreError, [.noOrigin, .notOffered].contains(error.code)
            else { return error }
            return CommandError(error, .notFound)
        }
    }
}
