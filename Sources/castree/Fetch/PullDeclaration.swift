import Console
import StoreCommands

extension Command {
    static let pull = Command(
        "pull", summary: "fetches a version, downloading only what is missing",
        discussion: """
            URL is an origin made by castree publish (on any web server, in a directory, or in \
            a bucket, as s3://BUCKET/PREFIX), or a Meteor server. Content that any version in \
            the store has is not fetched again, whatever its path. Every byte is verified. Once \
            the version is whole it becomes visible, in one step, and waits for the next boot.

            Where the origin has packs, everything comes in one: compressed, and as the \
            difference from a version that is here. Whatever is wrong with a pack, what it \
            was to bring comes object by object. --dry-run shows the ways and what each costs.

                castree pull https://example.org/app
                castree pull https://example.org/app --channel beta --activate
                castree pull https://example.org/app --release 41 --keep
                castree pull https://example.org/app --dry-run

            Requests to s3:// are signed, so the bucket may be private. Keys and endpoint are \
            found as AWS's tools find them.

                castree pull s3://updates/app --endpoint https://s3.example.org

            If a cache or mirror is behind and sends a channel's older pointer, nothing \
            changes and the exit status is 21; --force takes the pointer all the same, unless \
            releases must be signed.

            'castree trust add' lets the store take only what its publisher has signed. \
            Whatever else comes then ends with status 22 and changes nothing.

            A mandatory release that waits then ends with status 25: start the app again soon. \
            An origin that cannot be reached is status 23, a banned release 20.

            If the command is interrupted, killed or cut off, repeat it: it continues where it \
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
            "how the origin describes its versions", fallback: "auto"),
        .text(
            "channel", placeholder: "NAME", "the channel of a castree origin",
            fallback: "stable"),
        .text(
            "release", placeholder: "NAME", "take this release, not the channel's newest"),
        .text("version", placeholder: "NAME", "the version's name in the store"),
        .flag("activate", "make the version current once it is whole"),
        .flag("keep", "make the version neither current nor pending"),
        .integer(
            "keep-good", in: 1...1000,
            "where there is no room, retire what is not among so many versions that have proved good, "
                + "and what waits and was never shown"),
        .choice(
            "switch", of: ["now", "next-start"],
            "when the version is shown: now (as --activate), next-start; not with --activate or --keep",
            fallback: "next-start"),
        .flag(
            "dry-run", "print what would be fetched; fetch no content and change nothing"),
        .flag("no-packs", "fetch objects one by one, even where the origin has packs"),
        .integer(
            "jobs", in: 1...256, "fetch this many files at once from a server", fallback: 16
        ),
        .text(
            "limit-rate", placeholder: "BYTES",
            "read at most this many bytes a second, even from a directory; K, M and G are "
                + "powers of 1024"),
        .text(
            "expiry-grace", placeholder: "TIME",
            "obey what is signed for a time for so long after it is over",
            fallback: "0s"),
        .integer(
            "max-entries", in: 1...4_000_000,
            "refuse a version with more entries than this, before they are in memory",
            fallback: 250_000),
        .flag(
            "json-lines",
            "print what is found and how far it is, one JSON document per line; the last is the result"
        ),
        .flag("no-create", "end with status 3 where there is no store; make none"),
        .flag(
            "until-input-ends",
            "stop when the other end of standard input is closed, as by the end of the program that runs it"
        ),
    ]

    static let device: [Option] = [
        .text(
            "device", placeholder: "ID",
            "the device's identity, by which roll-outs choose; kept out of reports [else one that the store draws]"
        ),
        .text(
            "app", placeholder: "KIND=VALUE",
            "what this app is: version=, compatibility=, runtimeVersion=, nativeInterface=, "
                + "fingerprint=; group= for each group that the device is in",
            repeats: true,
            completion: .fixed(
                "version=", "compatibility=", "runtimeVersion=", "nativeInterface=",
                "fingerprint=", "group=")),
        .text(
            "group", placeholder: "NAME", "a group that the device is in, as --app group=NAME",
            repeats: true),
        .text("platform", placeholder: "NAME", "the app's platform, such as ios"),
        .flag(
            "force",
            "take a version that is banned, rolled out to others or unsuitable; and an older pointer"
        ),
    ]
}
