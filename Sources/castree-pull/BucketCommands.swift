import Buckets
import CASStore
import Console
import HotPush
import OriginCommands
import StoreCommands
import StrictJSON
import VersionTree

// What is done to origins in buckets: `publish`, `withdraw`, `prune`.

extension Invocation {
    /// `publish` to a bucket.
    func publishToBucket() throws -> ExitStatus {
        let name = try version()
        let offer = try offer(of: name)
        try refuse(
            [
                "level", "packs-from", "pack-base", "keep-packs", "packs-later", "verify",
                "dry-run",
            ])
        let versions = try openStore()
        let bar = progress("Publishing")
        defer { bar.finish() }
        let publisher = try bucketPublisher { bar.report($0.bytes, of: $0.bytesTotal) }
        let commit = try publisher.publish(name, of: versions, as: offer)
        bar.finish()
        warn(commit)
        return try report { writer in
            writer.member("version", name)
            write(commit, to: &writer)
            writer.member("objects", commit.sent.count)
            writer.member("bytes", commit.sent.byteCount)
            writer.member("reusedObjects", commit.reusedObjectCount)
            writer.member("changed", !commit.isUnchanged)
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
        }
    }

    /// `withdraw` from an origin in a bucket.
    func withdrawFromBucket() throws -> ExitStatus {
        let name = try VersionName(try version())
        try refuse([])
        let commit = try bucketPublisher().withdraw(
            name, from: try channel(), toEmbedded: flag("embedded"))
        warn(commit)
        return try reportWithdrawal(of: name, commit.pointer) { writeRequests(commit, to: &$0) }
    }

    /// `prune` of an origin in a bucket.
    func pruneBucket() throws -> ExitStatus {
        let retention = try retention()
        try refuse([])
        let isDryRun = flag("dry-run")
        let done = try BucketPruner(try bucketPublisher()).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds, isDryRun: isDryRun)
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
            writer.member("requests", done.figures.requestCount)
            writer.member("retries", done.figures.retryCount)
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
            if done.waiting.count > 0 {
                output.print(
                    "\(counted(done.waiting.count, "file")) that no release has, "
                        + "\(sizes.text(done.waiting.byteCount)), wait for a later prune.")
            }
        }
    }

    // MARK: The bucket

    /// Refuses options that mean nothing, or nothing yet, for a bucket.
    private func refuse(_ names: [String]) throws {
        for name in names + ["no-wait", "no-sync"] where isDeclared(name) && isGiven(name) {
            throw CommandError.usage("--\(name) is not for origins in buckets")
        }
    }

    private func bucketPublisher(
        _ progress: @escaping @Sendable (PublishProgress) -> Void = { _ in }
    ) throws -> BucketPublisher {
        let bucket = try openBucket(try BucketLocation(parsing: argument("ORIGIN")))
        var publishing = PublisherOptions()
        publishing.isInterrupted = { Interruption.isRequested }
        publishing.notice = { note($0) }
        publishing.progress = progress
        return BucketPublisher(bucket, options: publishing)
    }

    private func warn(_ commit: BucketCommit) {
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
        writeRequests(commit, to: &writer)
    }

    private func writeRequests(_ commit: BucketCommit, to writer: inout JSONWriter) {
        writer.member("entry", commit.entry)
        writer.member("epoch", commit.epoch)
        writer.member("pointerBehind", commit.pointerProblem != nil)
        writer.member("requests", commit.figures.requestCount)
        writer.member("retries", commit.figures.retryCount)
    }
}
