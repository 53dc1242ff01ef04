import CASStore
import Console
import HotPush
import Origin
import S3
import Storage
import StoreCommands
import StrictJSON

extension Invocation {
    /// `publish --all-of`: a whole origin.
    func copyOrigin(_ from: String) throws -> ExitStatus {
        let allowed = Option.bucket.map(\.name) + ["all-of", "force", "no-wait", "no-sync"]
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
        if case .bucket(let location) = reference.location, isOriginInBucket {
            let target = try bucketOrigin(argument("ORIGIN"))
            guard !location.overlaps(target) else {
                throw CommandError.usage(
                    "\(location) and \(target) are one place, or one is within the other; choose another prefix"
                )
            }
        }
        let bar = progress("Copying")
        defer { bar.finish() }
        // Check the source before anything is made.
        let source = try copied(reference.location)
        if case .directory(let path) = try origin(argument("ORIGIN")).location {
            try OriginCopy.checkIsElsewhere(source, path)
        }
        let publisher = try publisher(isCreating: true) {
            bar.report($0.bytes, of: $0.bytesTotal)
        }
        let scratch = environment("TMPDIR") ?? "/tmp"
        let copy = try askedOrigin { () throws(StoreError) in
            try OriginCopy(publisher, from: source, scratch: scratch).run()
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
            copy.sent.writeMembers(to: &writer)
            writer.member("found", copy.foundCount)
            writer.member("channels", copy.channelCount)
            writer.member("pointerBehind", !copy.behind.isEmpty)
            copy.figures.writeMembers(to: &writer)
        } text: { output in
            output.print(
                "Copied \(counted(copy.sent.count, "file")), \(sizes.text(copy.sent.byteCount)), to "
                    + "\(argument("ORIGIN")); repeat this once nobody publishes to \(reference.location) any more, and from then on publish only there."
            )
        }
    }

    private func copied(_ location: OriginLocation) throws -> any ObjectStorage {
        switch location {
        case .directory(let path):
            try askedOrigin { () throws(StoreError) in try OriginCopy.directory(path) }
        case .bucket(let location): try openBucket(location)
        case .web:
            throw CommandError.usage(
                "--all-of takes the directory of an origin, or its bucket: s3://BUCKET/PREFIX")
        }
    }
}
