import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

// Which keys' releases a store accepts. 'trust rotate', which changes an origin's keys, is the publisher's.

extension Command {
    /// The commands whose first word is `trust`, as a device has them.
    static let trusting: [Command] = [.trustAdd, .trustList, .trustLower, .trustRemove]

    static let trustAdd = Command(
        "trust add", summary: "makes the store accept only signed releases from an origin",
        discussion: """
            From now on the store accepts from the origin only what the key has signed, so others \
            who can write there cannot publish to this device or withdraw anything. Name the key \
            before the first pull. KEY is a file with a public key, as 'castree key show' prints \
            it.

                castree trust add release.pub --origin https://example.org/app

            With several keys, --threshold says how many must have signed. New keys are added to \
            those already trusted, so you can replace a lost one; 'castree trust remove' removes \
            it.

                castree trust add a.pub b.pub c.pub --threshold 2 --origin https://example.org/app

            The origin's id distinguishes its pointers from those of other origins that the same \
            key signs. Without --origin-id, the first verified pointer sets it. If the origin's \
            keys have changed, name all current ones and their version with --trust-version \
            (castree trust rotate prints it); then no earlier signature counts. The store \
            remembers in trust.json what it verified, so no older release can come back. A \
            missing store is created.
            """,
        arguments: [
            Argument("KEY", "files with public Ed25519 keys (PEM)", .some, completion: .files)
        ],
        options: [
            .text(
                "origin", placeholder: "URL", "the origin, as castree pull takes it",
                required: true, completion: .directories),
            .text(
                "origin-id", placeholder: "HEX",
                "the id of the origin: 32 hexadecimal digits, in its origin.json"),
            .integer("threshold", in: 1...8, "require the signatures of this many different keys"),
            .integer(
                "trust-version", in: 1...Int(TrustFile.versions.upperBound),
                "treat the given keys as the complete version N of the origin's key list; ignore older signatures"
            ),
        ]
    ) { try $0.addTrust() }

    static let trustList = Command(
        "trust list", summary: "lists the origins that must sign their releases",
        discussion: """
            For each origin it prints the place, the id, the keys, how many must have signed, and \
            the newest verified sequence number of each channel. The store accepts anything from all \
            other origins.

                castree trust list --json
            """
    ) { try $0.listTrust() }

    static let trustLower = Command(
        "trust lower", summary: "forgets the newest verified release of an origin",
        discussion: """
            A stolen key, or a publisher whose clock was ahead, may have signed a sequence number or time \
            so far ahead that all later ones look old or expired. This command forgets both, for \
            CHANNEL or for all channels. The next pointer that the trusted keys have signed then \
            counts, whatever was verified before. 'castree trust list' shows what is remembered. \
            If a key was stolen, change the keys instead (castree trust rotate): devices then \
            forget what the old key signed.

                castree trust lower https://example.org/app
                castree trust lower https://example.org/app beta
            """,
        arguments: [
            Argument("ORIGIN", "the origin's URL or directory, or its id"),
            Argument("CHANNEL", "the name of a channel", .optional),
        ]
    ) { try $0.lowerTrust() }

    static let trustRemove = Command(
        "trust remove", summary: "stops trusting a key, or accepts unsigned releases again",
        discussion: """
            With KEY, stops trusting that key. Without it, the store accepts anything from the \
            origin, as before 'castree trust add', and forgets what it has verified.

                castree trust remove https://example.org/app 6b3f9c0d2e4a8175
                castree trust remove https://example.org/app
            """,
        arguments: [
            Argument("ORIGIN", "the origin's URL or directory, or its id"),
            Argument("KEY", "the id of one of its keys", .optional),
        ]
    ) { try $0.removeTrust() }
}

extension Invocation {
    fileprivate func addTrust() throws -> ExitStatus {
        let places = try trustPlaces(requiredValue("origin"))
        let id = try value("origin-id")
        if let id, !ChannelPointer.isOriginID(id) {
            throw CommandError.usage(
                "--origin-id takes 32 hexadecimal digits, as \"origin\" in origin.json has them, not '\(id)'"
            )
        }
        // Before a store is made for them.
        var keys: [VerificationKey] = []
        for file in arguments("KEY") { keys.append(try VerificationKey(file: file)) }
        let (threshold, version) = (try integer("threshold"), try integer("trust-version"))
        let versions = try openOrCreateStore()
        let (origin, isNews) = try versions.changeTrust(anew: true) { (trust) throws(StoreError) in
            try trust.add(keys, threshold, version.map { Int64($0) }, at: places, id)
        }
        if isNews { origin.record(in: versions) }
        return try report { writer in
            origin.writeMembers(to: &writer)
            writer.member("unchanged", !isNews)
        } text: { output in
            let names = origin.keys.map(\.id).joined(separator: ", ")
            let whose =
                switch (origin.keys.count, origin.threshold) {
                case (1, _): "key \(names) has"
                case (_, 1): "one of the keys \(names) has"
                default: "\(origin.threshold) of the keys \(names) have"
                }
            output.print("Releases of \(places[0]) are taken only if \(whose) signed them.")
            if origin.id == nil {
                output.print("  The first verified pointer will set the origin's id.")
            }
        }
    }

    fileprivate func listTrust() throws -> ExitStatus {
        let origins = try openStore().trust().origins
        return try report { writer in
            writer.member("origins", origins) { writer, origin in
                origin.writeMembers(to: &writer)
            }
        } text: { output in
            if origins.isEmpty {
                output.print(
                    "No origin has to sign its releases. castree trust add changes that.")
            }
            for origin in origins { origin.print(to: output) }
        }
    }

    fileprivate func lowerTrust() throws -> ExitStatus {
        let text = argument("ORIGIN")
        let places = ChannelPointer.isOriginID(text) ? [text] : try trustPlaces(text)
        let channel = optionalArgument("CHANNEL")
        if let channel { try parsed { () throws(StoreError) in _ = try ChannelName(channel) } }
        let versions = try openStore()
        let lowered = try askedOrigin { () throws(StoreError) in
            try versions.changeTrust { (trust) throws(StoreError) in
                try trust.lower(channel, at: places)
            }
        }
        return try report { writer in
            lowered.writeMembers(to: &writer)
        } text: { output in
            output.print(
                "What was verified of \(channel.map { "channel \($0) of " } ?? "")\(places[0]) is forgotten; the keys stay."
            )
        }
    }

    fileprivate func removeTrust() throws -> ExitStatus {
        let text = argument("ORIGIN")
        let places = ChannelPointer.isOriginID(text) ? [text] : try trustPlaces(text)
        let place = places[0]
        let key = optionalArgument("KEY")
        let versions = try openStore()
        if try key == nil && versions.forgetLostTrust() {
            return try report { writer in
                writer.member("lost", true)
            } text: { output in
                output.print(
                    "trust.json was lost; from now on releases of any origin are accepted unsigned."
                )
            }
        }
        let left = try askedOrigin { () throws(StoreError) in
            try versions.changeTrust { (trust) throws(StoreError) in
                try trust.remove(key, at: places)
            }
        }
        left.record(in: versions)
        return try report { writer in
            left.writeMembers(to: &writer)
        } text: { output in
            if let key {
                output.print("Key \(key) is no longer trusted for \(place).")
            } else {
                output.print("From now on releases of \(place) are accepted unsigned.")
            }
        }
    }

    /// - Throws: `usage` for a pointer; `.badOrigin`.
    private func trustPlaces(_ text: String) throws -> [String] {
        let reference = try OriginReference(parsing: text)
        if let channel = reference.channel {
            throw CommandError.usage(
                "this is the pointer of channel \(channel); keys are trusted for the whole origin: "
                    + reference.location.description)
        }
        return reference.location.trustPlaces
    }
}

extension StoreTrust {
    /// Trusts keys for a place.
    /// - Returns: the origin, and whether anything has changed.
    fileprivate mutating func add(
        _ keys: [VerificationKey], _ threshold: Int?, _ version: Int64?, at places: [String],
        _ id: String?
    ) throws(StoreError) -> (TrustedOrigin, isNews: Bool) {
        let place = places[0]
        let known = if let there = origin(at: places) { there } else { origin(id) }
        if let old = known?.id, let id, old != id {
            throw StoreError(
                .badKey,
                "\(place) is the origin \(old) for this store, not \(id); if it was made anew there, castree trust remove "
                    + "\(place) first")
        }
        var origin =
            known ?? TrustedOrigin(places: [], id: id, keys: [], threshold: threshold ?? 1)
        if let version {
            let seen = max(origin.version ?? 0, origin.floor)
            guard version >= seen else {
                throw StoreError(
                    .badKey,
                    "version \(seen) of the trust of \(origin.places.first ?? "the origin") was seen before, and nothing goes "
                        + "back to version \(version)")
            }
            // Nothing that was verified is signed by a key that still counts.
            if !origin.keys.contains(where: keys.contains) { origin.forgetVerified() }
            origin.keys = keys
            origin.version = version
        } else {
            for key in keys where !origin.keys.contains(key) { origin.keys.append(key) }
        }
        // Refuses two keys with one id, and more signatures than there are keys.
        let trusted = try TrustedKeys(origin.keys, threshold: threshold ?? origin.threshold)
        origin.keys = trusted.keys
        origin.threshold = trusted.threshold
        origin.id = origin.id ?? id
        origin.places += names(of: places, for: origin)
        guard origin != known else { return (origin, false) }
        if Set(origin.keys) != Set(known?.keys ?? []) {
            // They count beside those of the known version, until the origin changes its keys.
            origin.appKeys = nil
        }
        if let id = origin.id, let other = self.origin(id), other != known {
            throw StoreError(
                .badKey,
                "\(id) is trusted already, at \(other.places.first ?? "no place"), and \(place) as another origin: castree "
                    + "trust remove \(place) first, then this makes it a second place of \(id)")
        }
        try put(origin, insteadOf: known)
        return (origin, true)
    }

    private func known(at places: [String]) throws(StoreError) -> TrustedOrigin {
        if let origin = origin(at: places) ?? origin(places[0]) { return origin }
        throw StoreError(
            .notFound,
            "nothing is trusted for \(printable(places[0])); castree trust list shows for what something is"
        )
    }

    fileprivate mutating func lower(
        _ channel: String?, at places: [String]
    ) throws(StoreError) -> TrustedOrigin {
        let known = try known(at: places)
        if let channel, known.sequences[channel] == nil {
            throw StoreError(
                .notFound,
                "nothing of channel \(channel) was verified for \(printable(places[0])); castree trust list shows what was"
            )
        }
        var origin = known
        origin.forgetVerified(channel)
        try put(origin, insteadOf: known)
        return origin
    }

    /// Removes a key, or all of an origin, from the trust.
    /// - Returns: what is left of the origin, perhaps without keys.
    fileprivate mutating func remove(
        _ key: String?, at places: [String]
    ) throws(StoreError) -> TrustedOrigin {
        let place = places[0]
        let known = try known(at: places)
        var origin = known
        guard let key else {
            origins.removeAll { $0 == origin }
            origin.keys = []
            return origin
        }
        guard origin.keys.contains(where: { $0.id == key }) else {
            throw StoreError(
                .notFound,
                "key \(printable(key)) is not trusted for \(place); castree trust list shows those that are"
            )
        }
        guard origin.keys.count > max(origin.threshold, 1) else {
            throw StoreError(
                .badKey,
                origin.keys.count == 1
                    ? "key \(key) is the only one for \(place): add another first, or give no key to accept unsigned releases again"
                    : "\(origin.threshold) keys must sign the releases of \(place), and fewer would be left: add another "
                        + "first (castree trust add), or lower --threshold there")
        }
        origin.keys.removeAll { $0.id == key }
        origin.forgetVersion()
        origin.appKeys = nil
        try put(origin, insteadOf: known)
        return origin
    }
}

// How an origin is shown whose releases must be signed.

extension TrustedOrigin {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("places", places)
        writer.member("origin", id)
        writer.member("keys", keys.map(\.id))
        writer.member("threshold", threshold)
        if let version { writer.member("trustVersion", Int(version)) }
        writer.member("sequences") { writer in
            for (channel, sequence) in sequences.sorted(by: { $0.key < $1.key }) {
                writer.member(channel, Int(sequence))
            }
        }
        writer.member("latest", latest > 0 ? timestamp(latest) : nil)
    }

    func print(to output: Output) {
        output.print("\(places.first ?? id ?? "")")
        for place in places.dropFirst() { output.print("  also \(place)") }
        output.print("  origin \(id ?? "not known yet: the first verified pointer says it")")
        let count = threshold == 1 ? "one must have signed" : "\(threshold) must have signed"
        output.print("  keys \(keys.map(\.id).joined(separator: ", ")); \(count)")
        if let version { output.print("  version \(version) of its trust") }
        for (channel, sequence) in sequences.sorted(by: { $0.key < $1.key }) {
            output.print("  channel \(channel): verified up to \(sequence)")
        }
        if latest > 0 { output.print("  signed at \(timestamp(latest)) at the latest") }
    }

    func record(in versions: VersionStore) {
        EventLog(versions).record(
            .trusting(
                origin: places.first ?? id ?? "", keys: keys.map(\.id), threshold: threshold))
    }
}
