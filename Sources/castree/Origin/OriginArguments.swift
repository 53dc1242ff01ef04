import CASStore
import ClientSystems
import Console
import HotPush
import Origin
import S3
import StoreCommands
import StrictJSON

extension Argument {
    static let originDirectory = Argument(
        "ORIGIN", "the origin's directory or file: URL, or s3://BUCKET/PREFIX",
        completion: .directories)
}

extension Option {
    static let channel = Option.text(
        "channel", placeholder: "NAME", "the channel of the origin",
        fallback: ChannelName.stable.description)
    static let noWait = Option.flag(
        "no-wait", "fail at once if another publisher is at work")
}

extension Invocation {
    func isSet(_ name: String) -> Bool { isDeclared(name) && flag(name) }

    /// - Throws: `usage` for a name that no channel can have.
    func channel() throws -> ChannelName {
        let given = try requiredValue("channel")
        return try parsed { () throws(StoreError) in try ChannelName(given) }
    }

    /// The publisher of the origin that the command line names.
    /// - Parameters:
    ///   - isCreating: whether a missing directory is created.
    ///   - isDraft: whether nothing may be written.
    ///   - isWithdrawing: whether something is taken back.
    /// - Throws: `usage`, also for options that mean nothing for this kind of origin; what opening it throws.
    func publisher(
        isCreating: Bool = false, isDraft: Bool = false, isWithdrawing: Bool = false,
        packs: PackOptions = PackOptions(),
        _ progress: @escaping @Sendable (PublishProgress) -> Void = { _ in }
    ) throws -> OriginPublisher {
        var options = try publisherOptions(packs, progress)
        options.isWithdrawing = isWithdrawing
        if isOriginInBucket {
            try refuse(
                [.noWait, .withoutSync].filter { isDeclared($0.name) },
                "is not for origins in buckets")
            if isSet("force") {
                throw CommandError.usage("--force is not for origins in buckets")
            }
            let bucket = try openBucket(bucketOrigin(argument("ORIGIN")))
            return OriginPublisher(bucket, options: options)
        }
        let isFromBucket =
            try isDeclared("all-of") && value("all-of").map(BucketLocation.isOne) ?? false
        if !isFromBucket {
            try refuse(
                Option.onlyForBuckets(command), "is for origins in buckets: s3://BUCKET/PREFIX")
        }
        options.isDurable = !(isSet("no-sync"))
        if let limit = try duration("wait") { options.waitLimit = limit }
        if isSet("no-wait") { options.waitLimit = .zero }
        options.beginsAmongOthers = isSet("force")
        return try Publisher(originDirectory(), options: options)
            .engine(isCreating: isCreating, isDraft: isDraft)
    }

    private func originDirectory() throws -> String {
        let reference = try OriginReference(parsing: argument("ORIGIN"))
        if let channel = reference.channel {
            throw CommandError.usage(
                "ORIGIN must be the origin's directory, not a pointer; "
                    + "name the channel with --channel \(channel)")
        }
        guard case .directory(let path) = reference.location else {
            throw StoreError(
                .badOrigin,
                "castree writes only to directories and buckets; publish to a directory, then copy it to the server "
                    + "(all else first, channels/ last)")
        }
        return path
    }

    private func publisherOptions(
        _ packs: PackOptions, _ progress: @escaping @Sendable (PublishProgress) -> Void
    ) throws -> PublisherOptions {
        var options = PublisherOptions()
        options.isInterrupted = { Interruption.isRequested }
        options.notice = { note($0) }
        options.progress = progress
        options.packs = packs
        options.verifiesObjects = isSet("verify")
        if isDeclared("sign-key") {
            options.signing = try signing()
            options.announcing = try announcing()
        }
        options.takesOver = isSet("take-over")
        return options
    }

    /// Warns that devices do not see a commit yet.
    /// - Throws: the reason, if the origin is a directory: the user can fix its disk, and repeat the command.
    func warn(_ commit: OriginCommit) throws {
        guard isOriginInBucket else { return _ = try commit.seen() }
        guard let problem = commit.pointerProblem else { return }
        diagnostics.warn(
            code: "pointerBehind",
            "entry \(commit.entry) is written, but the pointer of channel \(commit.pointer.channel) could not be: "
                + "devices see the previous release until the next command or prune there (\(problem.message))"
        )
    }

    func write(
        _ commit: OriginCommit?, of publisher: OriginPublisher, withFetched: Bool = false,
        to writer: inout JSONWriter
    ) {
        guard let commit else { return publisher.figures.writeMembers(to: &writer) }
        if withFetched { writer.member("fetchedBytes", commit.fetched.byteCount) }
        writer.member("entry", commit.entry)
        writer.member("epoch", commit.epoch)
        writer.member("pointerBehind", commit.pointerProblem != nil)
        commit.figures.writeMembers(to: &writer)
    }
}

extension Command {
    /// The same command; it exits with `notFound` for what the origin does not have.
    var reportingMissing: Command {
        translatingErrors { error in
            guard let error = error as? StoreError, [.noOrigin, .notOffered].contains(error.code)
            else { return error }
            return CommandError(error, .notFound)
        }
    }
}

extension Option {
    static let bucket: [Option] =
        reachingBucket + [
            .integer(
                "jobs", in: 1...128, "send at most this many requests to a bucket at once",
                fallback: 16)
        ]

    static func onlyForBuckets(_ command: Command) -> [Option] {
        let names = bucket.map(\.name) + ["fetch-bases"]
        return command.options.filter { names.contains($0.name) }
    }
}
