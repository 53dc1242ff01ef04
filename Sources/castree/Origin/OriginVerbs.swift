import CASStore
import ClientSystems
import Console
import HotPush
import S3
import Storage
import StoreCommands
import StrictJSON
import VersionTree

// What is done to origins, wherever they are.

extension Invocation {
    /// `publish`.
    func publish() throws -> ExitStatus {
        let name = try publishedVersion()
        let offer = try offer(of: name)
        let versions = try openStore()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        // Nothing is made for what cannot be published.
        let described = try Publisher.describe(name, of: versions, offer, deviceLimits())
        var publisher = try publisher(
            isCreating: true, isDraft: isDryRun, packs: publishedPacks()
        ) { bars.report($0) }
        publisher.options.limits = try deviceLimits()
        let telling = try telling()
        publisher.options.telling = telling
        if telling.systems != nil {
            try telling.check(offer.channel, in: publisher.clients())
        }
        if isDryRun {
            let plan = try publisher.plan(name, of: versions, as: offer)
            let outcomes = try telling.outcomes(of: plan, versions, by: publisher)
            return try reportPlan(plan, outcomes, isDryRun: true) {
                publisher.figures.writeMembers(to: &$0)
            }
        }
        let commit = try publisher.publish(name, of: versions, as: offer, described)
        bars.finish()
        try warn(commit)
        let plan = try commit.plan ?? publisher.plan(name, of: versions, as: offer)
        return try reportPlan(plan, telling.outcomes, isDryRun: false) { writer in
            writer.member("fetchedBytes", commit.fetched.byteCount)
            writeRequests(commit, to: &writer)
        }
    }

    /// `pack`.
    func pack() throws -> ExitStatus {
        let name = try version()
        let channel = try channel()
        let versions = try openStore()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let publisher = try publisher(isDraft: isDryRun, packs: packOptions()) {
            bars.report($0)
        }
        if isDryRun {
            let report = try publisher.planPacks(name, of: versions, in: channel)
            return try reportPacking(report, of: name, in: channel, isDryRun: true) {
                publisher.figures.writeMembers(to: &$0)
            }
        }
        let commit = try publisher.pack(name, of: versions, in: channel)
        bars.finish()
        try warn(commit)
        return try reportPacking(commit.packing, of: name, in: channel, isDryRun: false) {
            $0.member("fetchedBytes", commit.fetched.byteCount)
            writeRequests(commit, to: &$0)
        }
    }

    /// `resign`.
    func resign() throws -> ExitStatus {
        let channel = try signedChannel()
        let publisher = try publisher()
        let commits = try publisher.resign(channel)
        for commit in commits { try warn(commit) }
        return try reportSigned(commits.map(\.pointer)) {
            publisher.figures.writeMembers(to: &$0)
        }
    }

    /// `trust rotate`.
    func rotateTrust() throws -> ExitStatus {
        let rotation = try rotation()
        let publisher = try publisher()
        let (step, commits) = try publisher.rotate(rotation)
        for commit in commits { try warn(commit) }
        return try reportRotation(step) { publisher.figures.writeMembers(to: &$0) }
    }

    /// `withdraw`.
    func withdraw() throws -> ExitStatus {
        let name = try VersionName(try version())
        let commit = try publisher(isWithdrawing: true).withdraw(
            name, from: try channel(), toEmbedded: flag("embedded"))
        try warn(commit)
        return try reportWithdrawal(of: name, commit.pointer) { writeRequests(commit, to: &$0) }
    }

    /// `prune`.
    func prune() throws -> ExitStatus {
        let retention = try retention()
        let isDryRun = flag("dry-run")
        let bar = progress("Listing", unit: .count("keys"))
        defer { bar.finish() }
        var publisher = try publisher(isDraft: isDryRun)
        publisher.options.listed = { bar.report($0) }
        let done = try OriginPruner(publisher).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds, isDryRun: isDryRun)
        bar.finish()
        try show(done, isDryRun: isDryRun)
        for (path, reason) in done.stuck {
            diagnostics.warn(code: "stuck", "\(printable(path)) could not be deleted: \(reason)")
        }
        return done.refusedCount == 0 ? .done : .failed
    }

    private func show(_ done: PruneReport, isDryRun: Bool) throws {
        try report { writer in
            writer.member("origin", argument("ORIGIN"))
            writer.member("entry", done.entry)
            writer.member("epoch", done.epoch)
            writer.member("releases", done.trimmedCount)
            done.garbage.writeMembers(to: &writer)
            writer.member("waiting", done.waiting.count)
            writer.member("waitingBytes", done.waiting.byteCount)
            writer.member("refused", done.refusedCount)
            writer.member("stuck", done.stuck) { writer, stuck in
                writer.member("path", stuck.path)
                writer.member("reason", stuck.reason)
            }
            writer.member("unknown", done.unknownCount)
            writer.member("uploads", done.uploadCount)
            done.figures.writeMembers(to: &writer)
            writer.member("dryRun", isDryRun)
        } text: { output in
            let deed = isDryRun ? "Would delete" : "Deleted"
            let files = counted(done.garbage.count, "file")
            output.print("\(deed) \(files), \(sizes.text(done.garbage.byteCount)).")
            if done.trimmedCount > 0 {
                let releases = counted(done.trimmedCount, "release")
                output.print(
                    isDryRun
                        ? "The channels would no longer list \(releases)."
                        : "The channels no longer list \(releases).")
            }
            if done.refusedCount > 0 {
                output.print(
                    "\(counted(done.refusedCount, "file")) could not be deleted. The next prune tries again."
                )
            }
            if done.unknownCount > 0 {
                output.print(
                    "\(counted(done.unknownCount, "file")) may be there still: the store did not answer. "
                        + "The next prune tries again.")
            }
            if done.uploadCount > 0 {
                let uploads = counted(done.uploadCount, "upload")
                output.print(
                    "\(uploads) in parts, begun more than a week ago and never ended, "
                        + (isDryRun ? "would be ended." : "ended."))
            }
            if done.waiting.count > 0 {
                output.print(
                    "\(counted(done.waiting.count, "file")) that no release has, "
                        + "\(sizes.text(done.waiting.byteCount)), wait for a later prune.")
            }
        }
    }

    // MARK: The publisher

    /// The publisher of the origin that the command line names.
    ///
    /// - Parameters:
    ///   - isCreating: whether a directory is made if there is none.
    ///   - isDraft: whether nothing may be written.
    ///   - isWithdrawing: whether something is taken back.
    /// - Throws: `usage`, also for options that mean nothing where the origin is; what opening it throws.
    func publisher(
        isCreating: Bool = false, isDraft: Bool = false, isWithdrawing: Bool = false,
        packs: PackOptions = PackOptions(),
        _ progress: @escaping @Sendable (PublishProgress) -> Void = { _ in }
    ) throws -> OriginPublisher {
        var options = try publisherOptions(packs, progress)
        options.isWithdrawing = isWithdrawing
        if isOriginInBucket {
            try refuse([.noWait, .withoutSync], "is not for origins in buckets")
            if isDeclared("force"), flag("force") {
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
        options.isDurable = !(isDeclared("no-sync") && flag("no-sync"))
        if let limit = try duration("wait") { options.waitLimit = limit }
        if isDeclared("no-wait"), flag("no-wait") { options.waitLimit = .zero }
        options.beginsAmongOthers = isDeclared("force") && flag("force")
        let publisher = Publisher(try originDirectory(), options: options)
        return try isDraft
            ? publisher.draft(isCreating: isCreating) : publisher.engine(isCreating: isCreating)
    }

    /// The directory of the origin that the command line names.
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
        options.verifiesObjects = isDeclared("verify") && flag("verify")
        if isDeclared("sign-key") {
            options.sealing = try sealing()
            options.telling = try telling()
        }
        options.takesOver = isDeclared("take-over") && flag("take-over")
        return options
    }

    /// Says that devices do not see a commit yet.
    /// - Throws: why, of a directory: whoever is at its disk can mend that, and repeat the command.
    func warn(_ commit: OriginCommit) throws {
        guard isOriginInBucket else { return _ = try commit.seen() }
        guard let problem = commit.pointerProblem else { return }
        diagnostics.warn(
            code: "pointerBehind",
            "entry \(commit.entry) is written, but the pointer of channel \(commit.pointer.channel) could not be: "
                + "devices see the release before it until the next command on it, or a prune (\(problem.message))"
        )
    }

    func writeRequests(_ commit: OriginCommit, to writer: inout JSONWriter) {
        writer.member("entry", commit.entry)
        writer.member("epoch", commit.epoch)
        writer.member("pointerBehind", commit.pointerProblem != nil)
        commit.figures.writeMembers(to: &writer)
    }
}
