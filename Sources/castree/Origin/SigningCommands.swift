import CASStore
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON

extension Command {
    static let resign = Command(
        "resign", summary: "signs the channels of an origin again",
        discussion: """
            Renews signatures that expire: run it from cron before they do. Devices ignore expired \
            pointers, but continue to run what they have. The releases stay as they are. With \
            --adopt it also signs a channel that nobody has signed yet. It can also add the \
            signatures of further keys.

                castree resign /srv/www/updates --sign-key release.key --valid-for 30d
                castree resign /srv/www/updates --sign-key release.key --adopt
            """,
        arguments: [.originDirectory],
        options: [
            .text("channel", placeholder: "NAME", "only this channel [default: all]")
        ] + Option.signing + [.noWait, .withoutSync] + Option.bucket
    ) { try $0.resign() }.reportingMissing
}

extension Command {
    static let rotateTrust = Command(
        "trust rotate", summary: "changes the keys that sign an origin's channels",
        discussion: """
            Writes the list of keys that count from now on, signed by the old and the new ones, \
            and signs every channel again. Devices follow automatically, even after years, because \
            each list leads to the next. If the command is interrupted or killed, repeat it. A \
            lost key cannot sign its successor, so keep a second one in another place \
            (docs/signing.md).

            Before the first rotation there is no such list. The new list then has the keys that \
            sign now or that --trust names; use --add for any others. Without --threshold, devices \
            will require as many signatures as there are now.

                castree key new next.key
                castree trust rotate /srv/www/updates --add next.key.pub --remove release.key.pub \\
                    --sign-key release.key --sign-key next.key
                castree trust rotate /srv/www/updates --add spare.pub --sign-key release.key
            """,
        arguments: [.originDirectory],
        options: [
            .text(
                "add", placeholder: "FILE",
                "also trust the public key in this file; repeatable",
                repeats: true, completion: .files),
            .text(
                "remove", placeholder: "KEY",
                "stop trusting this key: its id or the file of its public key; repeatable",
                repeats: true, completion: .files),
            .integer(
                "threshold", in: 1...PointerSignature.countMax,
                "make devices require the signatures of this many keys [default: as many as before; the "
                    + "first time, as many as sign now]"
            ),
        ] + Option.signers + [
            Option.trustedKey, .noWait, .withoutSync,
        ] + Option.bucket
    ) { try $0.rotateTrust() }.reportingMissing
}

extension Invocation {
    fileprivate func resign() throws -> ExitStatus {
        let origin = argument("ORIGIN")
        let channel = try value("channel").map { (given) throws in
            try parsed { () throws(StoreError) in try ChannelName(given) }
        }
        let publisher = try publisher()
        let commits = try publisher.resign(channel)
        for commit in commits { try warn(commit) }
        let pointers = commits.map(\.pointer)
        return try report { writer in
            writer.member("origin", origin)
            writer.member("originId", pointers.first?.origin)
            write(signed: pointers, to: &writer)
            publisher.figures.writeMembers(to: &writer)
        } text: { output in
            for pointer in pointers {
                output.print(
                    "Channel \(pointer.channel) of \(origin) is \(pointer.signingText() ?? "not signed")."
                )
            }
            if pointers.isEmpty { output.print("\(origin) has no channel.") }
        }
    }

    private func write(signed pointers: [ChannelPointer], to writer: inout JSONWriter) {
        writer.member("channels", pointers) { writer, pointer in
            writer.member("channel", pointer.channel.description)
            writer.member("sequence", pointer.sequence)
            pointer.writeSigning(to: &writer)
        }
    }

    fileprivate func rotateTrust() throws -> ExitStatus {
        let (rotation, origin) = (try rotation(), argument("ORIGIN"))
        let publisher = try publisher()
        let (step, commits) = try publisher.rotate(rotation)
        for commit in commits { try warn(commit) }
        let (file, keys) = (step.file, step.file.trusted.keys.map(\.id))
        return try report { writer in
            writer.member("origin", origin)
            writer.member("originId", file.origin)
            writer.member("version", file.version)
            writer.member("keys", keys)
            writer.member("threshold", file.trusted.threshold)
            write(signed: step.pointers, to: &writer)
            publisher.figures.writeMembers(to: &writer)
        } text: { output in
            let threshold = file.trusted.threshold
            output.print(
                "Version \(file.version) of the trust of \(origin): "
                    + "\(threshold == 1 ? "one" : "\(threshold)") of \(keys.joined(separator: ", ")) must sign."
            )
            output.print("No other key counts from now on.")
            if step.isThere, step.pointers.isEmpty {
                output.print("They count already; nothing changes.")
            }
            if step.assumesThreshold {
                output.print(
                    "No threshold was recorded, so it is now the number of current signers; "
                        + "--threshold changes it.")
            }
            for pointer in step.pointers {
                output.print(
                    "Channel \(pointer.channel) is \(pointer.signingText() ?? "not signed").")
            }
        }
    }

    /// The change of keys that the command line asks for.
    /// - Throws: `usage`; what reading keys throws.
    private func rotation() throws -> TrustRotation {
        var rotation = TrustRotation(threshold: try integer("threshold"))
        for file in values("add") { rotation.added.append(try VerificationKey(file: file)) }
        for key in values("remove") {
            rotation.removed.append(
                VerificationKey.isID(key) ? key : try VerificationKey(file: key).id)
        }
        guard !rotation.added.isEmpty || !rotation.removed.isEmpty || rotation.threshold != nil
        else { throw CommandError.usage("a rotation needs --add, --remove or --threshold") }
        return rotation
    }
}
