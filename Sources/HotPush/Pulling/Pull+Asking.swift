public import CASStore
import VersionTree

// Asking an origin what it offers.

extension Pull {
    /// Asks an origin what it offers, with a single request if the answer is already known.
    ///
    /// A pending version that its publisher has withdrawn is no longer pending afterwards.
    ///
    /// - Parameter text: the URL of an origin, of a channel's pointer, or a directory.
    /// - Throws: `.badOrigin`, `.network`, `.notFound` if nothing there describes a release, `.badRelease`,
    ///   `.badPointer`, `.damagedOrigin`, `.unsuitableRelease`.
    public func ask(_ text: String) throws(StoreError) -> OriginAnswer {
        try inquire(text).answer
    }

    /// Does what ``ask(_:)`` does, and also returns the basis of the answer.
    /// - Parameters:
    ///   - judges: whether to refuse a version that is here and must not be shown; otherwise the caller judges it.
    ///   - pastCaches: whether to bypass caches for a channel.
    package func inquire(
        _ text: String, judges: Bool = true, pastCaches: Bool = false
    ) throws(StoreError) -> OriginReply {
        do throws(StoreError) {
            let reply = try access.discreetly { () throws(StoreError) in
                try self.reply(of: text, judges, pastCaches)
            }
            try note(reply, of: text)
            return reply
        } catch {
            options.journal?.record(
                error, asking: text, channel: options.unusualChannel, release: options.release)
            throw error
        }
    }

    private func reply(
        of text: String, _ judges: Bool, _ pastCaches: Bool
    ) throws(StoreError) -> OriginReply {
        let reference = try OriginReference(parsing: text)
        let location = reference.location
        let wanted = try wantedFormat()
        // Other formats have no signatures.
        let isTrusting = try isTrusting(location)
        let memory = isTrusting ? nil : try formatMemory(wanted, reference)
        if let reply = try askRemembered(memory, at: location, judges) { return reply }
        absence = nil
        if wanted == nil || wanted is CastreeFormat {
            var channel = try ChannelName(options.channel)
            if let named = reference.channel { channel = named }
            if let reply = try askChannel(channel, at: location, pastCaches: pastCaches) {
                return reply
            }
            // A bucket never serves another format.
            var isBucket = false
            if case .bucket = location { isBucket = true }
            if wanted != nil || options.release != nil || isBucket || isTrusting {
                throw try noChannel(channel, at: location)
            }
        } else if options.release != nil {
            throw StoreError(
                .unsupported, "only the channels of castree's own origins offer several releases")
        }
        if let wanted { try refuseUnsignable(wanted, at: location) }
        var refusal: StoreError?
        for format in wanted.map({ [$0] }) ?? ReleaseFormats.all where !(format is CastreeFormat) {
            do throws(StoreError) {
                let reply = try askDocuments(of: format, at: location, judges)
                memory?.keep(format)
                return reply
            } catch {
                // Without a wanted format the next one may fit; an error inside a document is reported.
                guard wanted == nil, error.code == .notFound || error.code == .badOrigin else {
                    throw error
                }
                refusal = error
            }
        }
        if wanted != nil, let refusal { throw refusal }
        throw try noRelease(at: location)
    }

    /// Refuses, in the format's words, an offered version that is here and must not be shown.
    func known(
        _ offer: FoundRelease, _ judges: Bool
    ) throws(StoreError) -> OriginReply? {
        guard let name = try knownVersion(of: offer.release) else { return nil }
        if judges, !options.isForced { try refuse(offer, knownAs: name) }
        var reply = OriginReply(.known(version: name))
        reply.known = offer.release
        return reply
    }

    private func refuse(_ offer: FoundRelease, knownAs name: String) throws(StoreError) {
        let lifecycle = try versions.lifecycle()
        if name == lifecycle.current || name == lifecycle.pending { return }
        let content = try versions.manifest(of: name).contentAddress()
        if lifecycle.ban(of: content) != nil {
            throw offer.format.error(.banned(offer.release.publisherVersion))
        }
        try refuseUnmet(offer.release, offer.format)
        try refuseOthers(offer.release)
    }

    private func wantedFormat() throws(StoreError) -> (any ReleaseFormat)? {
        if let reader = options.reader { return reader }
        guard let name = options.format else { return nil }
        if let format = ReleaseFormats.named(name) { return format }
        throw StoreError(
            .unsupported,
            "there is no format \"\(printable(name))\"; castree knows "
                + ReleaseFormats.names.joined(separator: ", "))
    }
}
