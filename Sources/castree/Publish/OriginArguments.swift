import CASStore
import Console
import HotPush
import StoreCommands

extension Argument {
    /// The directory of an origin.
    static let originDirectory = Argument(
        "ORIGIN", "the origin's directory, or its file: URL", completion: .directories)
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

    /// The publisher of the origin that the command line names.
    func publisher() throws -> Publisher {
        let text = argument("ORIGIN")
        let reference = try OriginReference(parsing: text)
        if let channel = reference.channel {
            throw CommandError.usage(
                "ORIGIN must be the origin's directory, not a pointer; "
                    + "name the channel with --channel \(channel)")
        }
        guard case .directory(let path) = reference.location else {
            throw StoreError(
                .badOrigin,
                "castree writes only to directories; publish to one, then copy it to the server "
                    + "(objects, packs and manifests first, then deliveries, channels last)")
        }
        var options = PublisherOptions()
        options.isDurable = !flag("no-sync")
        options.waitsForOthers = !flag("no-wait")
        options.notice = { note($0) }
        options.isInterrupted = { Interruption.isRequested }
        return Publisher(path, options: options)
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
