package import Console

extension Command {
    /// `channels`: lists what the channels of an origin offer.
    ///
    /// Declared once for the two programs that have it, as ``pull(run:)`` is.
    package static func channels(
        run: @escaping @Sendable (Invocation) throws -> ExitStatus
    ) -> Command {
        Command(
            "channels", summary: "lists the channels of an origin and what each offers",
            discussion: """
                URL is an origin made by castree publish: a web server's URL, a directory, \
                s3://BUCKET/PREFIX, or the URL of one channel's pointer. A device takes the newest \
                release that is for it. The command needs no store. It reads the pointers, and the \
                deliveries that they name: what packs lead to a release, and what each would cost \
                a device: a request for the pointer, one for the delivery and one for the pack. \
                Of a release that is rolled out to a share of the devices it says whether the device \
                --device ID is among them, else the one whose store is here; a store draws its \
                device's name when it first pulls such a release. Of a bucket it shows what the log says, if the log may be read, else the pointers \
                that devices see.

                Whoever can write to the origin can write there that a key has signed. Only of the keys \
                that --trust names it says whether they have.

                    castree channels https://example.org/app
                    castree channels https://example.org/app --trust release.pub
                    castree channels s3://updates/app
                    castree channels ./origin --json | jq -r '.[].channel'
                """,
            arguments: [
                Argument(
                    "URL", "the origin's URL or directory, or s3://BUCKET/PREFIX",
                    completion: .directories)
            ],
            options: [
                .text(
                    "trust", placeholder: "FILE",
                    "say of this public key whether it has signed; repeatable", repeats: true,
                    completion: .files),
                .text(
                    "device", placeholder: "ID",
                    "say whether roll-outs reach this device [else the one of the store here]"),
            ] + Option.reaching, run: run)
    }
}
