import CASStore
import ClientSystems
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let publish = Command(
        "publish", summary: "writes a version to an origin: a directory, or an S3 bucket",
        discussion: """
            Copies content that the origin does not have, then offers the version at the head of a \
            channel. Clients see the previous release or this one, never a mixture. Any web server \
            can serve the directory, and you can copy it to any CDN (objects, packs and manifests \
            first, then deliveries, channels last). If the command is interrupted or killed, \
            repeat it. Publishing the same version twice writes nothing. Any number of publishers \
            can work at once.

                castree publish 42 /srv/www/updates
                castree publish 42 /srv/www/updates --rollout 5 --channel beta
                castree publish 42 /srv/www/updates --require minimumAppVersion=3.1

            First it makes packs: a full one, and one from each of the channel's last \
            releases, so that a device downloads only the changed parts of files, in one request. \
            Packs save bytes, but devices do not need them: if there is no space, the version is \
            offered without them. If seconds count, --packs-later offers the version first. \
            'castree pack' makes the packs of a version that was published without them. \
            Publishing a version again keeps its packs and adds missing ones.

                castree publish 42 /srv/www/updates --pack-base 40
                castree publish 42 /srv/www/updates --packs-later

            An origin in a bucket, s3://BUCKET/PREFIX, accepts any number of publishers at once, \
            on any machines. Devices read it with plain GETs. castree finds keys and endpoint as \
            AWS's tools do. It makes the packs in the store's directory packing/, from content \
            that the store has; --fetch-bases fetches the rest. --verify checks the size of \
            every file that the release needs, and sends missing or truncated ones again.

                castree publish 42 s3://updates/app --endpoint https://s3.example.org

            To move an origin to another directory or bucket, copy it whole, and from then on \
            publish only there. If the copy is interrupted, repeat it; it continues.

                castree publish --all-of /srv/www/updates s3://updates/app
                castree publish --all-of s3://updates/app /srv/www/updates

            If ORIGIN has pointers but no log, publish refuses to create one. --take-over creates \
            it from these pointers, for a directory that another tool copied into a bucket, or for \
            an origin whose log is lost and cannot be restored (docs/buckets.md).

            --sign-key signs the channel's pointer, which covers everything else. Devices that \
            trust the key (castree trust add) accept nothing that it has not signed. Once a channel \
            is signed, publishing to it without a key fails. Signing covers everything that the \
            channel offers, so the existing pointer must be signed by the same keys; the first \
            time, look at it (castree channels), then pass --adopt (docs/signing.md).

                castree key new release.key
                castree publish 42 /srv/www/updates --sign-key release.key --adopt

            Each version is also offered to the clients of other systems enabled by 'castree \
            origin enable'. castree warns about everything that a system cannot express; \
            --dry-run shows it in advance, with the files, ids and digests. --for limits the \
            command to some systems; the others follow with the next command that includes them. \
            --strict refuses a version that cannot be offered to one of the systems, instead of \
            warning. For the clients of Expo and hot-updater castree also makes patches from the \
            channel's last five releases (libbz2, libdivsufsort), unless --no-patches.

                castree publish 42 /srv/www/updates --for codepush,expo \\
                    --client-key expo=private-key.pem

            To widen a roll-out, publish the same version with a larger share, or without \
            --rollout for every device. A smaller share is refused if other systems are enabled. \
            To go back, publish an older version again, or withdraw the bad one.
            """,
        arguments: [.publishedVersion, .originDirectory],
        options: Option.offering + Option.announcing + Option.patching + Option.packing
            + Option.signing + Option.publishing + Option.bucket
    ) { invocation in
        if let from = try invocation.value("all-of") { return try invocation.copyOrigin(from) }
        return try invocation.publish()
    }
}

extension Option {
    fileprivate static let offering: [Option] = [
        .channel,
        .text(
            "rollout", placeholder: "PERCENT",
            "offer it to this percentage of devices only: 5, 0.5, 100"),
        .text(
            "salt", placeholder: "TEXT",
            "choose those devices by this text [default: the version's name]"),
        .text(
            "require", placeholder: "KIND=VALUE",
            "offer it only to apps that meet this requirement: compatibility=KEY, "
                + "minimumAppVersion=3.1; repeatable",
            repeats: true, completion: .words { _ in Requirement.kinds.map { $0 + "=" } }),
        .text(
            "group", placeholder: "NAME",
            "offer it only to devices in this group or, if repeated, in any of them; the same as --require group=NAME",
            repeats: true),
        .flag("mandatory", "require apps to install this version before they continue"),
    ]

    fileprivate static let publishing: [Option] = [
        .integer(
            "keep-packs", in: 1...ChannelPointer.releaseCountMax,
            "keep the packs of this many releases of the channel", fallback: 2),
        .flag("no-packs", "make no packs; keep existing ones"),
        .flag("packs-later", "offer the version first, then make its packs"),
        .flag(
            "verify",
            "read the origin's files, including packs, and replace damaged ones; in a directory, "
                + "an older version keeps its place"),
        .flag(
            "force", "create an origin in a directory that is not empty; not for buckets"),
        .integer(
            "max-entries", in: 1...4_000_000,
            "allow up to this many files and directories, for devices with the same option",
            fallback: DeviceLimits.entryCountDefault),
        .flag("dry-run", "print what would be written, and write nothing"),
        .text(
            "all-of", placeholder: "FROM",
            "copy this whole origin, a directory or s3://BUCKET/PREFIX, to a place that has none; "
                + "give no VERSION",
            completion: .directories),
        .flag(
            "take-over",
            "create a log from the existing pointers, after a directory was copied into a bucket or the log was lost"
        ),
        .noWait, .withoutSync,
    ]
}

extension Argument {
    /// The version that is published; optional, because a whole origin may be.
    fileprivate static var publishedVersion: Argument {
        var argument = version
        argument.arity = .optional
        return argument
    }
}

extension Invocation {
    fileprivate func publish() throws -> ExitStatus {
        guard optionalArgument("VERSION") != nil else {
            throw CommandError.usage("missing argument: publish takes VERSION and ORIGIN")
        }
        let name = try version()
        let offer = try offer(of: name)
        let versions = try openStore()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let limits = DeviceLimits(
            entryCount: try integer("max-entries") ?? DeviceLimits.entryCountDefault)
        // Refuse what cannot be published before anything is made.
        let described = try Publisher.describe(name, of: versions, offer, limits)
        var publisher = try publisher(
            isCreating: true, isDraft: isDryRun, packs: publishedPacks()
        ) { bars.report($0) }
        publisher.options.limits = limits
        let announcing = try announcing()
        publisher.options.announcing = announcing
        if announcing.systems != nil {
            try announcing.check(offer.channel, in: publisher.clients())
        }
        if isDryRun {
            let plan = try publisher.plan(name, of: versions, as: offer)
            let outcomes = try announcing.outcomes(of: plan, versions, by: publisher)
            return try report(plan, outcomes, [:], nil, publisher)
        }
        let commit = try publisher.publish(name, of: versions, as: offer, described)
        bars.finish()
        try warn(commit)
        let plan = try commit.plan ?? publisher.plan(name, of: versions, as: offer)
        return try report(
            plan, announcing.outcomes, announcing.patches?.writtenByteCounts ?? [:], commit,
            publisher)
    }

    func offer(of version: String) throws -> ReleaseOffer {
        var offer = ReleaseOffer(channel: try channel(), isMandatory: flag("mandatory"))
        if let text = try value("rollout") {
            guard let perMille = perMille(ofPercent: text) else {
                throw CommandError.usage(
                    "--rollout takes a percentage from 0 to 100 with at most one decimal,"
                        + " not '\(text)'")
            }
            offer.rollout = Rollout(perMille: perMille, salt: try value("salt") ?? version)
        } else if try value("salt") != nil {
            throw CommandError.usage("--salt needs --rollout")
        }
        for text in values("require") {
            let parts = text.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw CommandError.usage("--require takes KIND=VALUE, not '\(text)'")
            }
            offer.requirements.append(
                Requirement(kind: String(parts[0]), value: String(parts[1])))
        }
        let groups = values("group")
        if !groups.isEmpty {
            guard !groups.contains("") else { throw CommandError.usage("--group takes a name") }
            offer.requirements.append(
                Requirement(kind: Requirement.group, value: groups.joined(separator: ",")))
        }
        for requirement in offer.requirements {
            guard let objection = requirement.objection else { continue }
            throw CommandError.usage("--require: \(objection)")
        }
        return offer
    }

    private func report(
        _ plan: PublishPlan, _ clients: [ClientOutcome], _ patches: [ObjectID: Int64],
        _ commit: OriginCommit?, _ publisher: OriginPublisher
    ) throws -> ExitStatus {
        let patchByteCount = patches.values.reduce(0, +)
        let (origin, packs) = (argument("ORIGIN"), plan.packing?.packs ?? [])
        let rollout = plan.pointer.releases.first { $0.version?.name == plan.version.name }?.rollout
        return try report { writer in
            writer.member("version", plan.version.name.description)
            writer.member("origin", origin)
            writer.member("objects", plan.objects.count)
            writer.member("bytes", plan.byteCount)
            writer.member("channel", plan.pointer.channel.description)
            writer.member("reusedObjects", plan.reusedObjectCount)
            writer.member("reusedBytes", plan.reusedByteCount)
            writer.member("manifest", plan.version.manifest.description)
            writer.member("manifestBytes", plan.writesManifest ? plan.version.manifestByteCount : 0)
            PackReport.writeMembers(of: plan.packing, to: &writer)
            writer.member("sequence", plan.pointer.sequence)
            plan.pointer.writeSigning(to: &writer)
            writer.member("perMille", rollout?.perMille ?? 1000)
            writer.member("twins", plan.facts?.deflatedCopies.count ?? 0)
            writer.member("twinBytes", plan.facts?.deflatedCopies.byteCount ?? 0)
            writer.member("facts", plan.facts?.address.description)
            writer.member("patches", patches.count)
            writer.member("patchBytes", patchByteCount)
            clients.writeMembers(to: &writer)
            writer.member("changed", plan.writesPointer || !packs.isEmpty)
            writer.member("dryRun", commit == nil)
            write(commit, of: publisher, withFetched: true, to: &writer)
        } text: { output in
            let objects = counted(plan.objects.count, "new object")
            let new = "\(objects), \(sizes.text(plan.byteCount))."
            let (name, channel) = (plan.version.name, plan.pointer.channel)
            if plan.writesPointer {
                let operation: DisplayText = commit == nil ? "Would publish" : "Published"
                output.print(
                    "\(operation) version \(name) to \(origin), channel \(channel): \(new)")
            } else {
                output.print(
                    "Channel \(channel) of \(origin) already offers version \(name); \(new)")
            }
            if let signing = plan.pointer.signingText() {
                output.print("Channel \(channel) is \(signing).")
            }
            print(rollout, to: output)
            print(plan.facts, to: output)
            clients.print(to: output, isDryRun: commit == nil)
            if !patches.isEmpty {
                let text =
                    patches.count == 1 ? "1 patch" : "\(groupedCount(patches.count)) patches"
                output.print(
                    "For the clients of Expo and hot-updater: \(text), \(sizes.text(patchByteCount))."
                )
            }
            plan.packing?.print(of: "\(name)", in: channel, to: output, sizes)
        }
    }

    private func print(_ rollout: Rollout?, to output: Output) {
        guard let rollout, rollout.perMille < 1000 else { return }
        output.print(
            "It reaches \(rollout.perMille) of 1,000 devices, chosen by their ids (--device, or drawn by the store). Older versions of castree without --device ignore it."
        )
    }

    private func print(_ facts: PlannedFacts?, to output: Output) {
        guard let facts, facts.writesFile || facts.deflatedCopies.count > 0 else { return }
        let deflatedCopies =
            facts.deflatedCopies.count == 1
            ? "1 deflated copy" : "\(groupedCount(facts.deflatedCopies.count)) deflated copies"
        output.print(
            "For the clients of other systems: \(deflatedCopies), \(sizes.text(facts.deflatedCopies.byteCount)), and "
                + "\(OriginLayout.path(.facts, facts.address)).")
    }
}

/// Thousandths from a percentage as people write it: `5`, `5%`, `0.5`; nil for anything else.
private func perMille(ofPercent text: String) -> Int? {
    let number = text.hasSuffix("%") ? text.dropLast() : text[...]
    let parts = number.split(separator: ".", omittingEmptySubsequences: false)
    guard let first = parts.first, parts.count <= 2, (1...3).contains(first.utf8.count),
        let whole = UInt16(first)
    else { return nil }
    var tenth: UInt16 = 0
    if parts.count == 2 {
        guard parts[1].utf8.count == 1, let digit = UInt16(parts[1]) else { return nil }
        tenth = digit
    }
    let perMille = Int(whole) * 10 + Int(tenth)
    return perMille <= 1000 ? perMille : nil
}
