import CASStore
import Console
import HotPush
import OriginCommands
import StoreCommands

extension Invocation {
    /// Does what is to be done in a directory; for a bucket, becomes the program that reaches it.
    func inDirectory(_ body: (Invocation) throws -> ExitStatus) throws -> ExitStatus {
        if isOriginInBucket { try SiblingProgram.pull.become() }
        try refuse(Option.onlyForBuckets(command), "is for origins in buckets: s3://BUCKET/PREFIX")
        return try body(self)
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
        if let limit = try duration("wait") { options.waitLimit = limit }
        if flag("no-wait") { options.waitLimit = .zero }
        options.notice = { note($0) }
        options.isInterrupted = { Interruption.isRequested }
        options.sealing = try sealing()
        options.telling = try telling()
        return Publisher(path, options: options)
    }

    /// Shows how far a publisher has come: with its packs, then with the rest.
    func follow(_ publisher: inout Publisher) -> PublishingBars {
        let bars = PublishingBars(self)
        publisher.options.progress = { bars.report($0) }
        return bars
    }
}
