import CASStore
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON

extension Command {
    static let prune = Command(
        "prune", summary: "deletes files that an origin's channels no longer need",
        discussion: """
            Keeps the newest releases of every channel, and older ones that some devices still get \
            because of roll-outs and requirements. A release that no channel lists any more stays \
            for a grace period, because clients may still be downloading it. The period begins \
            with the first prune that finds it unlisted. Run prune after publishing, or from cron. \
            Without --sign-key a signed channel keeps all its releases, so cron needs no key.

                castree prune /srv/www/updates --keep 5
                castree prune /srv/www/updates --grace 7d --dry-run
            """,
        arguments: [.originDirectory],
        options: [
            .integer(
                "keep", in: 1...ChannelPointer.releaseCountMax,
                "keep this many releases of each channel", fallback: 10),
            .text(
                "grace", placeholder: "TIME",
                "keep unlisted releases this long: 90s, 30m, 24h, 7d", fallback: "24h"),
            .flag("dry-run", "print what would be deleted, and delete nothing"),
            .noWait, .withoutSync,
        ] + Option.signing + Option.bucket
    ) { try $0.prune() }.reportingMissing
}

extension Invocation {
    fileprivate func prune() throws -> ExitStatus {
        let retention = OriginRetention()
        let (count, grace) = (try integer("keep"), try seconds("grace"))
        let isDryRun = flag("dry-run")
        let bar = progress("Listing", unit: .count("keys"))
        defer { bar.finish() }
        var publisher = try publisher(isDraft: isDryRun)
        publisher.options.listed = { bar.report($0) }
        let done = try OriginPruner(publisher).prune(
            keeping: count ?? retention.releaseCount, grace: grace ?? retention.graceSeconds,
            isDryRun: isDryRun)
        bar.finish()
        try report(done, isDryRun: isDryRun)
        for (path, reason) in done.stuck {
            diagnostics.warn(code: "stuck", "\(printable(path)) could not be deleted: \(reason)")
        }
        return done.refusedCount == 0 ? .done : .failed
    }

    private func report(_ done: PruneReport, isDryRun: Bool) throws {
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
            let operation = isDryRun ? "Would delete" : "Deleted"
            let files = counted(done.garbage.count, "file")
            output.print("\(operation) \(files), \(sizes.text(done.garbage.byteCount)).")
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
                    "\(counted(done.unknownCount, "file")) may still be there: the store did not answer. The next prune tries again."
                )
            }
            if done.uploadCount > 0 {
                let uploads = counted(done.uploadCount, "upload")
                output.print(
                    "\(uploads) in parts, begun more than a week ago and never completed, "
                        + (isDryRun ? "would be ended." : "ended."))
            }
            if done.waiting.count > 0 {
                output.print(
                    "\(counted(done.waiting.count, "file")) of no release, \(sizes.text(done.waiting.byteCount)), stay until a later prune."
                )
            }
        }
    }
}
