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
    /// - Parameter judges: whether to refuse what is already here and must not be shown; otherwise
    ///   the caller judges it.
    package func inquire(
        _ text: String, judges: Bool = true
    ) throws(StoreError) -> OriginReply {
        do throws(StoreError) {
            let reply = try reply(of: text, judges)
            try note(reply, of: text)
            return reply
        } catch {
            options.journal?.record(
                .checked(origin: text, outcome: .failed, version: nil, reason: error.message))
            throw error
        }
    }

    private func reply(of text: String, _ judges: Bool) throws(StoreError) -> OriginReply {
        let reference = try OriginReference(parsing: text)
        let location = reference.location
        let wanted = try wantedFormat()
        if wanted == nil || wanted is CastreeFormat {
            var channel = try ChannelName(options.channel)
            if let named = reference.channel { channel = named }
            if let reply = try askChannel(channel, at: location, isSure: wanted != nil) {
                return reply
            }
        }
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
            ? refusal ?? noRelease(location)
            : noRelease(location)
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

    private func noRelease(_ origin: OriginLocation) -> StoreError {
        StoreError(
            .notFound,
            "nothing at \(origin.description) describes a release: neither a channel "
                + "\"\(printable(options.channel))\" (castree publish) nor a Meteor server's "
                + "__cordova/manifest.json; check the URL")
    }

    // MARK: castree's own origins

    /// - Returns: nil if there is no such channel and another format may be meant.
    private func askChannel(
        _ channel: ChannelName, at origin: OriginLocation, isSure: Bool
    ) throws(StoreError) -> OriginReply? {
        let memory = try KeptPointers(versions, channel, at: origin)
        // Who insists wants to hear what the origin says now.
        var kept = options.isForced ? nil : try memory.read()
        if kept?.isStale(options.now()) == true { kept = nil }
        var answer = try access.document(
            OriginLayout.pointer(channel), at: origin,
            byteCountMax: Int64(ChannelPointer.byteCountMax), unless: kept?.tag)
        let isKept = answer.head.status == 304
        if isKept, let kept {
            answer.head.status = 200
            answer.bytes = kept.bytes
        }
        guard answer.isDocument else {
            guard answer.isAbsence else {
                throw StoreError(
                    .network,
                    "\(origin.description) answered \(answer.head.status) when asked for its channel "
                        + "\"\(channel)\"; try again later")
            }
            guard isSure else { return nil }
            throw StoreError(
                .notFound,
                "\(origin.description) has no channel \"\(channel)\" (it answered \(answer.head.status)); "
                    + "castree publish makes one")
        }
        let pointer = try ChannelPointer(parsing: answer.bytes, of: channel)
        // What is the same keeps its age, whether the server says so by a 304 or sends it again.
        if !isKept, !options.isDryRun, let tag = KeptPointers.tag(of: answer.head),
            tag != kept?.tag || answer.bytes != kept?.bytes
        {
            memory.keep(.init(tag: tag, bytes: answer.bytes, cameAt: options.now()))
        }
        var sighting = SeenSequences.Sighting(pointer, at: origin)
        if let newer = try seenSequences.newer(than: sighting) {
            guard options.isForced else {
                var reply = OriginReply(
                    .nothing([
                        "the channel's pointer is an older copy: its sequence is \(pointer.sequence), "
                            + "and \(newer) was seen before; a cache or mirror may be behind"
                    ]))
                reply.isOlderCopy = true
                return reply
            }
            sighting.isInsistedOn = true
        }
        return try choose(from: pointer, sighting, at: origin)
    }

    /// Chooses the first release of a pointer that is for this device.
    private func choose(
        from pointer: ChannelPointer, _ sighting: SeenSequences.Sighting, at origin: OriginLocation
    ) throws(StoreError) -> OriginReply {
        var reply = OriginReply(.nothing([]))
        reply.sighting = sighting
        reply.offered = pointer.releases.first
        var reasons: [String] = []
        for var offered in pointer.releases {
            let objections = try objections(to: offered)
            guard objections.isEmpty else {
                reasons += objections
                continue
            }
            if try isOvertakenMandatory(pointer) { offered.isMandatory = true }
            reply.offered = offered
            guard let published = offered.version else {
                reply.answer = try embedded(instead: reasons)
                return reply
            }
            if let name = try version(with: published.content) {
                reply.answer = .known(version: name)
                return reply
            }
            var found = try release(published, offered, of: pointer, at: origin)
            found.sighting = sighting
            reply.answer = .release(found)
            return reply
        }
        reply.answer = .nothing(reasons)
        return reply
    }

    /// The origin's answer if devices should run what was shipped with the app.
    private func embedded(instead reasons: [String]) throws(StoreError) -> OriginAnswer {
        guard try versions.lifecycle().embedded == nil else { return .embedded }
        return .nothing(
            reasons + [
                "the app should show what it was shipped with, but this store does not know what it "
                    + "was shipped with"
            ])
    }

    /// Whether any of the releases is mandatory, for this device, and newer than what it runs: a device
    /// that did not ask in time must not escape it.
    private func isOvertakenMandatory(
        _ pointer: ChannelPointer
    ) throws(StoreError) -> Bool {
        guard pointer.releases.contains(where: \.isMandatory) else { return false }
        let running = try runningSequence(pointer)
        for release in pointer.releases where release.isMandatory && release.sequence > running {
            if try objections(to: release).isEmpty { return true }
        }
        return false
    }

    /// The channel's sequence at which the running version was offered: as the pointer says, else as noted
    /// when it was fetched; the lowest if it came from elsewhere, where sequences mean nothing here.
    private func runningSequence(_ pointer: ChannelPointer) throws(StoreError) -> Int64 {
        let lifecycle = try versions.lifecycle()
        guard let current = lifecycle.current,
            let row = try versions.store.versionRow(current)
        else { return .min }
        for release in pointer.releases {
            if let version = release.version {
                if version.content == row.content { return release.sequence }
            } else if current == lifecycle.embedded {
                return release.sequence
            }
        }
        // If the manifest is lost, whatever is mandatory counts as newer.
        guard let manifest = try versions.readableManifest(of: current) else { return .min }
        let terms = ReleaseTerms(of: manifest)
        // For its shipped version, an app gives the order but not the channel.
        let isComparable =
            terms.family == nil
            && (terms.scope ?? pointer.channel.description) == pointer.channel.description
        // A larger order than the channel's sequence was counted before the channel began anew.
        guard isComparable, let order = terms.order, order <= pointer.sequence else { return .min }
        return order
    }

    private func objections(to offered: OfferedRelease) throws(StoreError) -> [String] {
        if options.isForced { return [] }
        let name = offered.version.map { "version \($0.name)" } ?? "the embedded version"
        let reasons =
            try options.app.objections(to: offered.requirements)
            + offered.audience.objections(device: options.device, options.app)
        return reasons.map { "\(name): \($0)" }
    }

    /// A complete version with that content, under the requested name if there is one; of several, the
    /// one that is shown or waits.
    private func version(with content: ObjectID) throws(StoreError) -> String? {
        var names: [String] = []
        for (row, _) in try versions.store.versionRows()
        where row.content == content && row.isComplete {
            // A version whose manifest is lost is registered again.
            if try versions.hasManifest(row.name) { names.append(row.name) }
        }
        if let wanted = options.version { return names.contains(wanted) ? wanted : nil }
        guard names.count > 1 else { return names.first }
        let lifecycle = try versions.lifecycle()
        for name in [lifecycle.current, lifecycle.pending] {
            if let name, names.contains(name) { return name }
        }
        return names.first
    }

    /// A release of a channel: with its files, or as a promise if its manifest comes with a pack.
    func release(
        _ published: PublishedVersion, _ offered: OfferedRelease, of pointer: ChannelPointer,
        at location: OriginLocation
    ) throws(StoreError) -> FoundRelease {
        let format = CastreeFormat()
        try refuseTooLarge(published)
        var release = Release(
            family: format.family, version: published.name, trust: .digest, received: [])
        release.statedContent = published.content
        // A sequence far ahead of all times orders nothing: no app update could ever overtake it.
        let bound = SequenceBound(versions, now: options.now)
        release.order = try bound.allows(offered.sequence) ? offered.sequence : nil
        release.scope = pointer.channel.description
        release.audience = offered.audience
        release.requirements = offered.requirements
        release.isMandatory = offered.isMandatory
        var found = FoundRelease(
            release: release, format: format, location: location,
            origin: try OriginURL(of: location), content: published.content)
        found.published = published
        found.choice = try choice(for: published, offered, at: location)
        if !found.packs.isEmpty { return found }
        return try resolve(found, with: manifest(published, at: location))
    }

    /// What a stranger's manifest may take.
    var limits: Manifest.Limits { .foreign(entryCountMax: options.entryCountMax) }

    /// The offer with the files of its manifest, whose address has been compared.
    /// - Throws: `.damagedOrigin` for the manifest of another version or content; `.badManifest`.
    func resolve(
        _ offer: FoundRelease, with bytes: [UInt8], _ parsed: Manifest? = nil
    ) throws(StoreError) -> FoundRelease {
        guard let published = offer.published else { return offer }
        let manifest: Manifest
        if let parsed {
            manifest = parsed
        } else {
            manifest = try Manifest(parsing: bytes, limits: limits)
        }
        guard manifest.version == published.name else {
            throw StoreError(
                .damagedOrigin,
                "the channel offers version \(published.name), and its manifest is that of "
                    + "\(manifest.version); publish the version again")
        }
        guard try manifest.contentAddress() == published.content else {
            throw StoreError(
                .damagedOrigin,
                "the channel promises other content for version \(published.name) than its manifest "
                    + "has; publish the version again")
        }
        var release = CastreeFormat().release(of: manifest, received: bytes)
        release.statedContent = published.content
        release.order = offer.release.order
        release.scope = offer.release.scope
        release.audience = offer.release.audience
        release.requirements = offer.release.requirements
        release.isMandatory = offer.release.isMandatory
        var found = offer
        found.release = release
        return found
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
