import CASStore
import ClientSystems
import Console
import HotPush
import OriginCommands
import S3
import Storage
import StoreCommands
import StrictJSON
import VersionTree

// What is done to origins in buckets: `publish`, `pack`, `withdraw`, `prune`.

extension Invocation {
    /// `publish` to a bucket.
    func publishToBucket() throws -> ExitStatus {
        if let from = try value("all-of") { return try copyToBucket(from) }
        let name = try publishedVersion()
        let offer = try offer(of: name)
        if flag("packs-later") {
            throw CommandError.usage(
                "--packs-later is not for origins in buckets: publish with --no-packs, then run castree pack"
            )
        }
        try refuseDirectoryOptions()
        let versions = try openStore()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        var publisher = try bucketPublisher(packs: publishedPacks()) { bars.report($0) }
        publisher.options.limits = try deviceLimits()
        let telling = try telling()
        publisher.options.telling = telling
        if telling.systems != nil {
            try telling.check(offer.channel, in: publisher.toldOrigin().origin)
        }
        if flag("dry-run") {
            let plan = try publisher.plan(name, of: versions, as: offer)
            let outcomes =
                plan.facts == nil
                ? []
                : try telling.outcomes(
                    of: plan, try versions.registeredManifest(of: name), in: versions.store,
                    origin: publisher.toldOrigin().origin)
            return try reportPlan(plan, outcomes, isDryRun: true) {
                publisher.figures.writeMembers(to: &$0)
            }
        }
        let commit = try publisher.publish(name, of: versions, as: offer)
        bars.finish()
        warn(commit)
        let release = commit.pointer.releases.first { $0.version?.name.description == name }
        return try report { writer in
            writer.member("version", name)
            write(commit, to: &writer)
            writer.member("objects", commit.sent.count)
            writer.member("bytes", commit.sent.byteCount)
            writer.member("reusedObjects", commit.reusedObjectCount)
            PackReport.writeMembers(of: commit.packing, to: &writer)
            writer.member("fetchedBytes", commit.fetched.byteCount)
            writer.member("twins", commit.facts?.twins.count ?? 0)
            writer.member("twinBytes", commit.facts?.twins.byteCount ?? 0)
            writer.member("facts", release?.facts?.description)
            telling.outcomes.writeMembers(to: &writer)
            writer.member("changed", !commit.isUnchanged)
            writer.member("dryRun", false)
        } text: { output in
            let new =
                "\(counted(commit.sent.count, "new object")), \(sizes.text(commit.sent.byteCount))"
            let (origin, channel) = (argument("ORIGIN"), commit.pointer.channel)
            if commit.isUnchanged {
                output.print("Channel \(channel) of \(origin) already offers version \(name).")
            } else {
                output.print(
                    "Published version \(name) to \(origin), channel \(channel): \(new), in "
                        + "\(counted(commit.figures.requestCount, "request")); entry \(commit.entry)."
                )
            }
            if let signing = commit.pointer.signingText({ timestamp($0) }) {
                output.print("Channel \(channel) is \(signing).")
            }
            print(commit.facts, in: release?.factsPlace.epoch ?? 0, to: output)
            telling.outcomes.print(to: output, isDryRun: false)
            commit.packing?.print(of: name, in: channel, to: output, sizes)
        }
    }

    /// `publish --all-of`: a whole origin.
    private func copyToBucket(_ from: String) throws -> ExitStatus {
        let allowed = Option.bucket.map(\.name) + ["all-of"]
        for option in command.options where isGiven(option.name) {
            guard !allowed.contains(option.name) else { continue }
            throw CommandError.usage("--\(option.name) and --all-of exclude each other")
        }
        guard optionalArgument("VERSION") == nil else {
            throw CommandError.usage("--all-of copies a whole origin: give no VERSION")
        }
        let reference = try origin(from)
        guard reference.channel == nil else {
            throw CommandError.usage("--all-of takes an origin, not the pointer of a channel")
        }
        let bar = progress("Copying")
        defer { bar.finish() }
        let publisher = try bucketPublisher { bar.report($0.bytes, of: $0.bytesTotal) }
        let copy: OriginCopy.Report
        switch reference.location {
        case .directory(let path):
            copy = try askedOrigin { () throws(StoreError) in
                try OriginCopy(publisher, from: path).run()
            }
        case .bucket(let location):
            let target = try bucketOrigin(argument("ORIGIN"))
            guard !location.overlaps(target) else {
                throw CommandError.usage(
                    "\(location) and \(target) are one place, or one is within the other; choose another prefix"
                )
            }
            let source = try openBucket(location)
            let scratch = environment("TMPDIR") ?? "/tmp"
            copy = try askedOrigin { () throws(StoreError) in
                try BucketCopy(publisher, from: source, scratch: scratch).run()
            }
        case .web:
            throw CommandError.usage(
                "--all-of takes the directory of an origin, or its bucket: s3://BUCKET/PREFIX")
        }
        bar.finish()
        for channel in copy.behind {
            diagnostics.warn(
                code: "pointerBehind",
                "the pointer of channel \(channel) could not be written: devices see it after the next command"
            )
        }
        return try report { writer in
            writer.member("origin", argument("ORIGIN"))
            writer.member("from", reference.location.description)
            writer.member("files", copy.sent.count)
            writer.member("bytes", copy.sent.byteCount)
            writer.member("found", copy.foundCount)
            writer.member("channels", copy.channelCount)
            writer.member("pointerBehind", !copy.behind.isEmpty)
            copy.figures.writeMembers(to: &writer)
        } text: { output in
            let next =
                if case .bucket = reference.location {
                    "repeat this when nobody publishes to \(reference.location) any more; from then on publish only there"
                } else { "from now on publish only there" }
            output.print(
                "Copied \(counted(copy.sent.count, "file")), \(sizes.text(copy.sent.byteCount)), to "
                    + "\(argument("ORIGIN")); \(next).")
        }
    }

    /// `pack` in a bucket.
    func packInBucket() throws -> ExitStatus {
        let name = try version()
        let channel = try channel()
        try refuseDirectoryOptions()
        let versions = try openStore()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let publisher = try bucketPublisher(packs: packOptions()) { bars.report($0) }
        if flag("dry-run") {
            let report = try publisher.planPacks(name, of: versions, in: channel)
            return try reportPacking(report, of: name, in: channel, isDryRun: true) {
                publisher.figures.writeMembers(to: &$0)
            }
        }
        let commit = try publisher.pack(name, of: versions, in: channel)
        bars.finish()
        warn(commit)
        return try reportPacking(commit.packing, of: name, in: channel, isDryRun: false) {
            $0.member("fetchedBytes", commit.fetched.byteCount)
            writeRequests(commit, to: &$0)
        }
    }

    /// `resign` of an origin in a bucket.
    func resignBucket() throws -> ExitStatus {
        let channel = try signedChannel()
        try refuseDirectoryOptions()
        let publisher = try bucketPublisher()
        let commits = try publisher.resign(channel)
        for commit in commits { warn(commit) }
        return try reportSigned(commits.map(\.pointer)) {
            publisher.figures.writeMembers(to: &$0)
        }
    }

    /// `trust rotate` of an origin in a bucket.
    func rotateBucket() throws -> ExitStatus {
        let rotation = try rotation()
        try refuseDirectoryOptions()
        let publisher = try bucketPublisher()
        let (step, commits) = try publisher.rotate(rotation)
        for commit in commits { warn(commit) }
        return try reportRotation(step) { publisher.figures.writeMembers(to: &$0) }
    }

    /// `withdraw` from an origin in a bucket.
    func withdrawFromBucket() throws -> ExitStatus {
        let name = try VersionName(try version())
        try refuseDirectoryOptions()
        let commit = try bucketPublisher().withdraw(
            name, from: try channel(), toEmbedded: flag("embedded"))
        warn(commit)
        return try reportWithdrawal(of: name, commit.pointer) { writeRequests(commit, to: &$0) }
    }

    /// `prune` of an origin in a bucket.
    func pruneBucket() throws -> ExitStatus {
        let retention = try retention()
        try refuseDirectoryOptions()
        let isDryRun = flag("dry-run")
        let bar = progress("Listing", unit: .count("keys"))
        defer { bar.finish() }
        var publisher = try bucketPublisher()
        publisher.options.listed = { bar.report($0) }
        let done = try BucketPruner(publisher).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds, isDryRun: isDryRun)
        bar.finish()
        return try report { writer in
            writer.member("origin", argument("ORIGIN"))
            writer.member("entry", done.entry)
            writer.member("epoch", done.epoch)
            writer.member("releases", done.trimmedCount)
            writer.member("files", done.garbage.count)
            writer.member("bytes", done.garbage.byteCount)
            writer.member("waiting", done.waiting.count)
            writer.member("waitingBytes", done.waiting.byteCount)
            writer.member("refused", done.refusedCount)
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
            let left = done.refusedCount + done.unknownCount
            if left > 0 {
                output.print(
                    "\(counted(left, "file")) may be there still: the store refused, or did not answer. "
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

    // MARK: The bucket

    /// Refuses what is for directories.
    func refuseDirectoryOptions() throws(CommandError) {
        try refuse([.noWait, .withoutSync], "is not for origins in buckets")
        if isDeclared("force"), flag("force") {
            throw CommandError.usage("--force is not for origins in buckets")
        }
    }

    func bucketPublisher(
        packs: PackOptions = PackOptions(),
        _ progress: @escaping @Sendable (PublishProgress) -> Void = { _ in }
    ) throws -> BucketPublisher {
        let bucket = try openBucket(try bucketOrigin(argument("ORIGIN")))
        var publishing = PublisherOptions()
        publishing.isInterrupted = { Interruption.isRequested }
        publishing.notice = { note($0) }
        publishing.progress = progress
        publishing.packs = packs
        publishing.verifiesObjects = isDeclared("verify") && flag("verify")
        publishing.sealing = try sealing()
        publishing.telling = try telling()
        publishing.takesOver = isDeclared("take-over") && flag("take-over")
        return BucketPublisher(bucket, options: publishing)
    }

    func warn(_ commit: BucketCommit) {
        guard let problem = commit.pointerProblem else { return }
        diagnostics.warn(
            code: "pointerBehind",
            "entry \(commit.entry) is written, but the pointer of channel \(commit.pointer.channel) could not be: "
                + "devices see the release before it until the next command on it, or a prune (\(problem.message))"
        )
    }

    private func write(_ commit: BucketCommit, to writer: inout JSONWriter) {
        writer.member("origin", argument("ORIGIN"))
        writer.member("channel", commit.pointer.channel.description)
        writer.member("sequence", commit.pointer.sequence)
        commit.pointer.writeSigning(to: &writer) { timestamp($0) }
        writeRequests(commit, to: &writer)
    }

    func writeRequests(_ commit: BucketCommit, to writer: inout JSONWriter) {
        writer.member("entry", commit.entry)
        writer.member("epoch", commit.epoch)
        writer.member("pointerBehind", commit.pointerProblem != nil)
        commit.figures.writeMembers(to: &writer)
    }
}
