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

    // MARK: Origins of other formats, which describe a release in documents of their own

    /// Where an origin's format is remembered; nil if the caller names it, or an option that only castree's format has.
    func formatMemory(
        _ wanted: (any ReleaseFormat)?, _ reference: OriginReference
    ) throws(StoreError) -> KeptAnswer? {
        guard wanted == nil, options.release == nil, reference.channel == nil,
            options.channel == ChannelName.stable.description,
            // With `--force`, the origin must answer.
            !options.isForced, case .web = reference.location
        else { return nil }
        return try KeptAnswer(
            formatOf: reference.location, versions, isChanging: !options.isDryRun)
    }

    /// Returns nil if no format is remembered, or the origin has changed its format.
    func askRemembered(
        _ memory: KeptAnswer?, at location: OriginLocation, _ judges: Bool
    ) throws(StoreError) -> OriginReply? {
        guard let memory, let format = try memory.format() else { return nil }
        do throws(StoreError) {
            return try askDocuments(of: format, at: location, judges)
        } catch {
            guard [.notFound, .badOrigin, .badRelease].contains(error.code) else { throw error }
            memory.forget()
            if error.code == .badRelease { throw error }
            return nil
        }
    }

    /// Throws `.notFound`, `.badOrigin` if none of the format's documents is there; what reading one throws.
    func askDocuments(
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
                // Built-in formats validate while they read.
                if options.reader != nil { try release.validate(origin: origin) }
                try release.refuseBeyond(options.limits)
                let offer = FoundRelease(
                    release: release, format: format, location: location, origin: origin,
                    content: try release.contentAddress())
                if let reply = try known(offer, judges) { return reply }
                options.offered(release.version.description, release.isMandatory)
                return OriginReply(.release(offer))
            }
        }
        if let refusal { throw refusal }
        throw try noRelease(at: location)
    }

    private func list(
        _ wanted: ReleaseDocument, at location: OriginLocation
    ) throws(StoreError) -> DocumentFetch.Answer {
        do throws(StoreError) {
            return try access.document(
                wanted.path, at: location, accept: wanted.accept,
                byteCountMax: min(options.listByteCountMax, 512 << 20))
        } catch {
            guard error.code == .tooLarge else { throw error }
            throw StoreError(
                .tooLarge,
                "\(error.message): \(options.entryCountMax) entries need fewer; --max-entries allows "
                    + "more")
        }
    }

    // MARK: The error if nothing describes a release: the wrong place, or the wrong channel

    func noChannel(
        _ channel: ChannelName, at origin: OriginLocation
    ) throws(StoreError) -> StoreError {
        let status = absence?.status ?? 0
        if status == 403 {
            if let refusal = access.refusal { return refusal }
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(channel)\" be read (it answered "
                    + "403): it is private, or has no such channel")
        }
        if let error = try wrongPlace(origin, channel.description) { return error }
        if let page = absence?.page { return self.page(page, insteadOf: origin) }
        return StoreError(
            .notFound,
            "\(origin.description) has no channel \"\(channel)\" (it answered \(status)); "
                + "castree publish creates one")
    }

    func noRelease(at origin: OriginLocation) throws(StoreError) -> StoreError {
        // Storage that may not be listed answers 403 for missing files too.
        if absence?.status == 403 {
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(printable(options.channel))\" be "
                    + "read (it answered 403): it is private, or describes no release; check the URL, "
                    + "and who may read it")
        }
        if absence != nil, let error = try wrongPlace(origin, options.channel) { return error }
        if let page = absence?.page { return self.page(page, insteadOf: origin) }
        return StoreError(
            .notFound,
            "nothing at \(origin.description) describes a release: neither a channel "
                + "\"\(printable(options.channel))\" (castree publish) nor a Meteor server's "
                + "__cordova/manifest.json; \(origin.advice)")
    }

    /// The error for a page in place of a channel's pointer: perhaps a captive portal, so a retry may help.
    func page(_ type: String, insteadOf origin: OriginLocation) -> StoreError {
        StoreError(
            .network,
            "\(origin.description) answered with a page (\(type)): a login or captive portal? If this network has "
                + "none, check the URL: no origin is there",
            cause: .transfer(kind: TransferFailure.Kind.broken.rawValue))
    }

    /// Advice on a 400: a TLS port answers a plain http request so.
    func adviceOnScheme(_ status: Int, _ origin: OriginLocation) -> String {
        guard status == 400, case .web(let url) = origin, url.hasPrefix("http:") else { return "" }
        return " (is that port https, not http?)"
    }

    /// The error for a directory that does not exist, or an origin with other channels; nil if neither is certain.
    private func wrongPlace(
        _ origin: OriginLocation, _ channel: String
    ) throws(StoreError) -> StoreError? {
        if case .directory(let path) = origin,
            try versions.fileSystem.status(POSIXFileSystem.workingDirectory, path) == nil
        {
            return StoreError(
                .notFound, "there is no directory \(printable(path)); \(origin.advice)")
        }
        // The error to report is the missing release; the names would only make it clearer.
        let known = try unlessInterrupted { () throws(StoreError) in
            try access.channelNames(at: origin)
        }
        let names = (known ?? []).map(\.description).filter { $0 != channel }
        guard !names.isEmpty else { return nil }
        let few = names.prefix(Self.namedCountMax).joined(separator: ", ")
        return StoreError(
            .notFound,
            "the origin \(origin.description) has no channel \"\(printable(channel))\"; it has "
                + few + (names.count > Self.namedCountMax ? " and others" : ""))
    }

    private static let namedCountMax = 8
}
