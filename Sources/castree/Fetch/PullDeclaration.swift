import Console
import StoreCommands

extension Command {
    static let pull = Command(
        "pull", summary: "fetches a version, downloading only what is missing",
        discussion: """
            URL is an origin made by castree publish (on a web server, in a directory, or in a \
            bucket, as s3://BUCKET/PREFIX), or a Meteor server. Content that any version in the \
            store has is not fetched again, whatever its path. Every byte is verified. The version \
            appears once it is complete, in one step, and is pending until the next boot.

            If the origin has packs, one pack delivers everything, compressed and as the difference \
            from a version in the store. If anything is wrong with a pack, its content is fetched \
            object by object. --dry-run shows the alternatives and their costs.

                castree pull https://example.org/app
                castree pull https://example.org/app --channel beta --activate
                castree pull https://example.org/app --release 41 --keep
                castree pull https://example.org/app --dry-run

            Requests to s3:// are signed, so the bucket may be private. castree finds keys and \
            endpoint as AWS's tools do.

                castree pull s3://updates/app --endpoint https://s3.example.org

            If a stale cache or mirror sends an older pointer of a channel, nothing changes and \
            the exit status is 21. --force accepts the older pointer, unless releases must be \
            signed.

            After 'castree trust add' the store accepts only releases that their publisher has \
            signed. Anything else changes nothing, and the exit status is 22.

            If a mandatory release is pending afterwards, the status is 25: start the app again \
            soon. Status 23 means that the origin cannot be reached, 20 that the release is banned \
            here.

            If the command is interrupted, killed or cut off, repeat it. It continues where it \
            stopped, even within a file. A missing store is created.
            """,
        arguments: [
            Argument(
                "URL", "the origin's URL or directory, or s3://BUCKET/PREFIX",
                completion: .directories)
        ],
        options: Option.pulling + Option.reaching + Option.device,
        statuses: .pull
    ) { pull in
        try pull.leavingNoEmptyStore { try pull.pull() }
    }
}

extension Option {
    fileprivate static let pulling: [Option] = [
        .choice(
            "format", of: ["auto", "castree", "meteor", "8fit"],
            "the format of the origin", fallback: "auto"),
        .text(
            "channel", placeholder: "NAME", "the channel of a castree origin",
            fallback: "stable"),
        .text(
            "release", placeholder: "NAME", "fetch this release instead of the channel's newest"),
        .text("version", placeholder: "NAME", "the version's name in the store"),
        .flag("activate", "make the version current once it is complete"),
        .flag("keep", "keep the version without making it current or pending"),
        .integer(
            "keep-good", in: 1...1000,
            "if there is no space, retire a pending version that was never shown, and all others "
                + "but the newest N that proved good"),
        .choice(
            "switch", of: ["now", "next-start"],
            "when to show the version: now (as --activate) or next-start; not with --activate or --keep",
            fallback: "next-start"),
        .flag(
            "dry-run", "print what would be fetched; fetch no content and change nothing"),
        .flag("no-packs", "fetch objects one by one, even if the origin has packs"),
        .integer(
            "jobs", in: 1...256, "fetch this many files from a server at once", fallback: 16
        ),
        .text(
            "limit-rate", placeholder: "BYTES",
            "read at most this many bytes a second, even from a directory; K, M and G are "
                + "powers of 1024"),
        .text(
            "expiry-grace", placeholder: "TIME",
            "accept a signature for this long after it has expired",
            fallback: "0s"),
        .integer(
            "max-entries", in: 1...4_000_000,
            "refuse a version with more entries than this, before they exhaust memory",
            fallback: 250_000),
        .flag(
            "json-lines",
            "print findings and progress, one JSON document per line; the last is the result"
        ),
        .flag("no-create", "if there is no store, create none and end with status 3"),
    ]

    static let device: [Option] = [
        .text(
            "device", placeholder: "ID",
            "the device's identity, which decides whether a roll-out reaches it; never in reports "
                + "[default: a random one kept in the store]"
        ),
        .text(
            "app", placeholder: "KIND=VALUE",
            "describe this app: version=, compatibility=, runtimeVersion=, nativeInterface=, "
                + "fingerprint=; group= for each group of the device",
            repeats: true,
            completion: .fixed(
                "version=", "compatibility=", "runtimeVersion=", "nativeInterface=",
                "fingerprint=", "group=")),
        .text(
            "group", placeholder: "NAME",
            "a group that the device is in; the same as --app group=NAME",
            repeats: true),
        .text("platform", placeholder: "NAME", "the app's platform, such as ios"),
        .flag(
            "force",
            "accept a version that is banned, not rolled out to this device or unsuitable, and an older pointer"
        ),
    ]
}
