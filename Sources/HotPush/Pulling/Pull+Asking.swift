public import CASStore
import VersionTree

// Asking an origin what it offers.

extension Pull {
    /// Asks an origin what it offers: one request if the answer is already known.
    ///
    /// - Parameter text: the URL of an origin, of a channel's pointer, or a directory.
    /// - Throws: `.badOrigin`, `.network`, `.notFound` if nothing there describes a release,
    ///   `.badRelease`, `.badPointer`, `.damagedOrigin`, `.unsuitableRelease`.
    public func ask(_ text: String) throws(StoreError) -> OriginAnswer {
        try inquire(text).answer
    }

    /// Does what ``ask(_:)`` does, and also returns the basis of the answer.
    ///
    /// - Parameters:
    ///   - judges: whether to refuse what is already here and must not be shown; otherwise the caller
    ///     judges it.
    ///   - pastCaches: whether no cache may answer for a channel.
    package func inquire(
        _ text: String, judges: Bool = true, pastCaches: Bool = false
    ) throws(StoreError) -> OriginReply {
        do throws(StoreError) {
            let reply = try reply(of: text, judges, pastCaches)
            try note(reply, of: text)
            return reply
        } catch {
            options.journal?.record(
                .checked(origin: text, outcome: .failed, version: nil, reason: error.message))
            throw error
        }
    }

    private func reply(
        of text: String, _ judges: Bool, _ pastCaches: Bool
    ) throws(StoreError) -> OriginReply {
        let reference = try OriginReference(parsing: text)
        let location = reference.location
        let wanted = try wantedFormat()
        var status = 0
        if wanted == nil || wanted is CastreeFormat {
            var channel = try ChannelName(options.channel)
            if let named = reference.channel { channel = named }
            switch try askChannel(channel, at: location, pastCaches: pastCaches) {
            case .found(let reply): return reply
            case .absent(let answered): status = answered
            }
            // No server of another format stands behind a bucket.
            var isBucket = false
            if case .bucket = location { isBucket = true }
            let isTrusting = try isTrusting(location)
            if wanted != nil || options.release != nil || isBucket || isTrusting {
                throw noChannel(channel, at: location, status)
            }
        } else if options.release != nil {
            throw StoreError(
                .unsupported, "only the channels of castree's own origins offer several releases")
        }
        if let wanted { try refuseUnsignable(wanted, at: location) }
        var refusal: StoreError?
        for format in wanted.map({ [$0] }) ?? ReleaseFormats.all where !(format is CastreeFormat) {
            do throws(StoreError) {
                return try askDocuments(of: format, at: location, judges)
            } catch {
                // If no format is wanted, the next one may fit; an error inside a document is reported.
                guard wanted == nil, error.code == .notFound || error.code == .badOrigin else {
                    throw error
                }
                refusal = error
            }
        }
        throw wanted != nil
            ? refusal ?? noRelease(location, status)
            : noRelease(location, status)
    }

    /// - Parameter status: what the origin answered when asked for the channel.
    private func noChannel(
        _ channel: ChannelName, at origin: OriginLocation, _ status: Int
    ) -> StoreError {
        if status == 403, let refusal = access.refusal { return refusal }
        return StoreError(
            .notFound,
            status == 403
                ? "\(origin.description) does not let its channel \"\(channel)\" be read (it answered "
                    + "403): it is private, or has no such channel"
                : "\(origin.description) has no channel \"\(channel)\" (it answered \(status)); "
                    + "castree publish makes one")
    }

    /// - Throws: `.bannedVersion`, `.unsuitableRelease`, in the format's words, if what is offered is here
    ///   and must not be shown.
    private func known(
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

    /// - Parameter status: what the origin answered when asked for a channel; 0 if it was not.
    private func noRelease(_ origin: OriginLocation, _ status: Int = 0) -> StoreError {
        // Storage that may not be listed answers 403 also for what does not exist.
        if status == 403 {
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(printable(options.channel))\" be "
                    + "read (it answered 403): it is private, or describes no release; check the URL, "
                    + "and who may read it")
        }
        return StoreError(
            .notFound,
            "nothing at \(origin.description) describes a release: neither a channel "
                + "\"\(printable(options.channel))\" (castree publish) nor a Meteor server's "
                + "__cordova/manifest.json; \(origin.advice)")
    }

    // MARK: Other formats

    private func askDocuments(
        of format: any ReleaseFormat, at location: OriginLocation, _ judges: Bool
    ) throws(StoreError) -> OriginReply {
        let origin = try OriginURL(of: location)
        let layout: DocumentLayout = origin.scheme == "file" ? .directory : .server
        var refusal: StoreError?
        for wanted in format.documents(layout, version: nil) {
            let answer = try list(wanted, at: location)
            if answer.head.status == 204, options.reader != nil {
                return OriginReply(
                    .nothing(["the origin answers that it has nothing to say (204)"]))
            }
            guard answer.head.status == 200 else {
                refusal = format.error(
                    .documentStatus(answer.head.status), at: origin.url(of: wanted.path))
                continue
            }
            let type = answer.head["content-type"]
            guard wanted.accepts(contentType: type) else {
                refusal = StoreError(
                    .notFound,
                    format.message(
                        .documentType(type, beginning: Array(answer.bytes.prefix(60)))))
                continue
            }
            var context = ReleaseContext(
                origin: origin, layout: layout, platform: options.platform)
            context.app = try appIdentity()
            context.device = options.device
            context.groups = options.app.groups
            context.entryCountMax = options.entryCountMax
            switch try format.answer(answer.bytes, context) {
            case .embedded: return OriginReply(try embedded(instead: []))
            case .nothing(let reasons): return OriginReply(.nothing(reasons))
            case .release(let release):
                // castree's own formats do this while they read.
                if options.reader != nil { try release.validate(origin: origin) }
                let offer = FoundRelease(
                    release: release, format: format, location: location, origin: origin,
                    content: try release.contentAddress())
                return try known(offer, judges) ?? OriginReply(.release(offer))
            }
        }
        throw refusal ?? noRelease(location)
    }

    /// The document that lists a release's files.
    private func list(
        _ wanted: ReleaseDocument, at location: OriginLocation
    ) throws(StoreError) -> DocumentFetch.Answer {
        do throws(StoreError) {
            return try access.document(
                wanted.path, at: location, accept: wanted.accept,
                byteCountMax: min(options.listByteCountMax, options.manifestByteCountMax))
        } catch {
            guard error.code == .tooLarge else { throw error }
            throw StoreError(
                .tooLarge,
                "\(error.message): \(options.entryCountMax) entries need fewer; --max-entries allows "
                    + "more")
        }
    }
}
