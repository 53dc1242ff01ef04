internal import CASStore
internal import Console
internal import VersionTree

extension Option {
    /// The options of every check, in both programs.
    static let checking: [Option] = [
        .flag("deep", "compute the SHA-256 of every object"),
        .text(
            "sample", placeholder: "PERCENT",
            "read only this share of the objects, chosen at random"),
        .integer("seed", in: 0...Int(UInt32.max), "choose the sample by this number"),
        .text(
            "since", placeholder: "TIME",
            "read only objects that no check has found sound since then: 7d, 2026-11-22"),
        .text(
            "limit-rate", placeholder: "BYTES",
            "read at most this many bytes a second; K, M and G are powers of 1024"),
        .flag("json-lines", "print each finding at once, one JSON document per line"),
    ]

    /// `--probe`: races of creators.
    static let probe = Option.flag(
        "probe",
        "for a bucket: test that exactly one of several concurrent writers can create a file")

    /// The further options of a repair.
    static let repairing: [Option] =
        [
            .flag("dry-run", "print what a repair would do, and change nothing"),
            .text(
                "from", placeholder: "ORIGIN",
                "repair, and fetch damaged or missing content from this castree origin: a "
                    + "directory, a URL, or s3://BUCKET/PREFIX",
                completion: .directories),
        ]
        + reachingToRepair
}

extension Argument {
    /// An origin that is checked in place of the store.
    static let checkedOrigin = Argument(
        "ORIGIN", "check this origin instead of the store: its directory, or s3://BUCKET/PREFIX",
        .optional, completion: .directories)
}

extension Invocation {
    /// How far to look, according to the command line.
    /// - Throws: `usage`.
    func checkOptions() throws(CommandError) -> CheckOptions {
        var options = CheckOptions(isDeep: flag("deep"))
        options.sample = try sample()
        options.since = try time("since", now: secondsNow())
        options.byteRateMax = try byteCount("limit-rate")
        if flag("json-lines"), isJSON {
            throw .usage("--json and --json-lines contradict each other")
        }
        return options
    }

    private func sample() throws(CommandError) -> CheckOptions.Sample? {
        let seed = try integer("seed")
        guard let text = try value("sample") else {
            guard seed == nil else { throw .usage("--seed chooses a sample: add --sample PERCENT") }
            return nil
        }
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard digits.utf8.allSatisfy({ (48...57).contains($0) || $0 == 46 }),
            let percent = Double(digits), percent > 0, percent <= 100
        else {
            throw .usage(
                "--sample takes a percentage above 0 and up to 100, as in 5; not '\(text)'")
        }
        guard let seed else { return CheckOptions.Sample(share: percent / 100) }
        return CheckOptions.Sample(share: percent / 100, seed: UInt64(seed))
    }

    /// How many bytes a check will read; nil if that is unknown or nobody watches.
    func expectedBytes(
        in versions: VersionStore, _ options: CheckOptions
    ) throws(StoreError) -> Int64? {
        // The bar can do without the number, and the check itself says what is wrong.
        guard isWatched, let bytes = try ifPossible(versions.store.objectBytes) else { return nil }
        return Int64(Double(bytes) * (options.sample?.share ?? 1))
    }
}
