import CASStore
import VersionTree

/// Asks an origin what it offers to this device.
struct OriginInquiry: PullStep {
    let basis: PullBasis

    func reply(
        of text: String, judges: Bool = true, pastCaches: Bool = false
    ) throws(StoreError) -> OriginReply {
        do throws(StoreError) {
            let reply = try access.discreetly { () throws(StoreError) in
                try ask(text, judges, pastCaches)
            }
            try note(reply, of: text)
            return reply
        } catch {
            options.eventLog?.record(
                error, asking: text, channel: options.unusualChannel, release: options.release)
            throw error
        }
    }

    private func ask(
        _ text: String, _ judges: Bool, _ pastCaches: Bool
    ) throws(StoreError) -> OriginReply {
        let reference = try OriginReference(parsing: text)
        let location = reference.location
        let wanted = try wantedFormat()
        // Other formats have no signatures.
        let isTrusting = try judge.isTrusting(location)
        let memory = isTrusting ? nil : try formatMemory(wanted, reference)
        if let reply = try askRemembered(memory, at: location, judges) { return reply }
        var missing: NoPointer?
        if wanted == nil || wanted is CastreeFormat {
            var channel = try ChannelName(options.channel)
            if let named = reference.channel { channel = named }
            switch try askChannel(channel, at: location, pastCaches: pastCaches) {
            case .success(let reply): return reply
            case .failure(let answer):
                // A bucket never serves another format.
                var isBucket = false
                if case .bucket = location { isBucket = true }
                if wanted != nil || options.release != nil || isBucket || isTrusting {
                    throw try noChannel(channel, at: location, answer)
                }
                missing = answer
            }
        } else if options.release != nil {
            throw StoreError(
                .unsupported, "only the channels of castree's own origins offer several releases")
        }
        if let wanted { try judge.refuseUnsignable(wanted, at: location) }
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
        throw try noRelease(at: location, missing)
    }

    /// Refuses, in the format's words, an offered version that is here and must not be shown.
    private func known(_ offer: FoundRelease, _ judges: Bool) throws(StoreError) -> OriginReply? {
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
        try planner.refuseUnmet(offer.release, offer.format)
        try planner.refuseOthers(offer.release)
    }

    /// A complete version that equals a release, as far as can be told without its content; nil if there is none.
    ///
    /// Documents of one version may differ outside its content, as in Meteor's runtime configuration, or may come from
    /// the app's own directory.
    private func knownVersion(of release: Release) throws(StoreError) -> String? {
        let name = options.version ?? release.version.description
        guard try versions.isAllHere(name), try versions.canBeShown(name) else { return nil }
        // A version whose manifest is lost, or has lost its publisher's fields, is registered again.
        guard let manifest = try versions.readableManifest(of: name), !manifest.lacksFields else {
            return nil
        }
        if try manifest.isReceived(from: release) { return name }
        for file in release.files {
            guard let entry = manifest[file.path] else {
                if file.isOptional { continue }
                return nil
            }
            if file.contradicts(entry) { return nil }
        }
        return name
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
    private func formatMemory(
        _ wanted: (any ReleaseFormat)?, _ reference: OriginReference
    ) throws(StoreError) -> KeptAnswer? {
        guard wanted == nil, options.release == nil, reference.channel == nil,
            options.channel == ChannelName.stable.description,
            // With `--force`, the origin must answer.
            !options.isForced, case .web = reference.location
        else { return nil }
        return try KeptAnswer(formatOf: reference.location, versions, isChanging: !options.isDryRun)
    }

    /// Returns nil if no format is remembered, or the origin has changed its format.
    private func askRemembered(
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
                    format.message(.documentType(type, beginning: Array(answer.bytes.prefix(60)))))
                continue
            }
            var context = ReleaseContext(origin: origin, layout: layout, platform: options.platform)
            context.app = try versions.appIdentity()
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
        throw try noRelease(at: location, nil)
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

    // MARK: What the event log says of the answer

    private func note(_ reply: OriginReply, of origin: String) throws(StoreError) {
        guard let eventLog = options.eventLog else { return }
        var outcome = CheckOutcome.nothingNew
        var version: String?
        var reason: String?
        let failure = reply.isOlderCopy ? EventLogFailure(code: EventLogFailure.olderCopy) : nil
        switch reply.answer {
        case .release(let found):
            version = found.release.version.description
            if try !isHere(found) { outcome = .available }
        case .known(let name): version = name
        case .embedded: reason = "the app should show what it was shipped with"
        case .nothing(let reasons):
            version = reply.offered?.version?.name.description
            outcome = reasons.isEmpty ? .nothingNew : .refused
            reason = reasons.isEmpty ? nil : reasons.joined(separator: "; ")
        }
        if !options.isForced, let ban = try ban(of: reply.answer) {
            (outcome, reason) = (.refused, "it is banned on this device: \(ban.reason)")
        }
        eventLog.record(
            .checked(
                origin: origin, channel: options.unusualChannel, release: options.release,
                outcome: outcome, version: version, reason: reason, failure: failure))
    }

    /// The ban of an offer, as far as its content is known before it is fetched.
    private func ban(of answer: OriginAnswer) throws(StoreError) -> Lifecycle.Ban? {
        switch answer {
        case .release, .known: break
        case .embedded, .nothing: return nil
        }
        let lifecycle = try versions.lifecycle()
        if lifecycle.bad.isEmpty { return nil }
        let content: ObjectID? =
            switch answer {
            case .release(let found): found.content
            case .known(let name): try versions.content(of: name)
            case .embedded, .nothing: nil
            }
        return content.flatMap { lifecycle.ban(of: $0) }
    }

    /// Judges by name if the format does not give the content.
    private func isHere(_ found: FoundRelease) throws(StoreError) -> Bool {
        if let content = found.content {
            return try versions.contents(ifWhole: true).contains(content)
        }
        let name = options.version ?? found.release.version.description
        return try versions.store.versionRow(name)?.isComplete == true
    }
}

/// What an origin answers.
public enum OriginAnswer: Sendable {
    /// The origin offers a release.
    case release(FoundRelease)
    /// The origin offers content that a version of the store has, so its manifest was not fetched.
    case known(version: String)
    /// Devices should run the version that was shipped with the app.
    case embedded
    /// Nothing is for this device; one reason for each release.
    case nothing([String])
}

package struct PassedOverRelease: Sendable, Hashable {
    package let version: String
    package let perMille: Int

    package var sentence: String {
        "version \(version) is passed over: so far it is for \(perMille) of 1,000 devices, and not for this one"
    }
}

/// An origin's answer, and the basis that later steps need.
package struct OriginReply: Sendable {
    package var answer: OriginAnswer
    /// The chosen release as the channel's pointer offers it; without one, the newest.
    var offered: ChannelRelease?
    /// The release behind ``OriginAnswer/known(version:)``, if its document was read.
    var known: Release?
    /// The channel's pointer; nil for other formats and for an older copy.
    var observation: SeenSequences.Observation?
    /// The ids of the trusted keys that signed the channel's pointer; empty if the store accepts unsigned releases.
    package var signers: [String] = []
    /// Partial rollouts that do not include this device.
    package var passedOver: [PassedOverRelease] = []
    package var isOlderCopy = false

    init(_ answer: OriginAnswer) { self.answer = answer }

    static func olderCopy(_ pointer: ChannelPointer, than newer: Int64) -> OriginReply {
        var reply = OriginReply(
            .nothing([
                "the channel's pointer is an older copy: its sequence is \(pointer.sequence), "
                    + "and \(newer) was seen before; a cache or mirror may be behind, or a backup was "
                    + "put back: then castree publish --adopt of what is offered continues above it"
            ]))
        reply.isOlderCopy = true
        return reply
    }

    /// Whether the reply still offers the release that is here by now as `version`.
    func stillOffers(_ offer: FoundRelease, as version: String) -> Bool {
        switch answer {
        case .known(let name): name == version
        case .release(let found): found.isSame(as: offer)
        case .embedded, .nothing: false
        }
    }

    /// Whether the publisher requires the release before the app may continue.
    package var isMandatory: Bool {
        switch answer {
        case .release(let found): found.release.isMandatory
        case .known: known?.isMandatory ?? offered?.isMandatory ?? false
        case .embedded: offered?.isMandatory ?? false
        case .nothing: false
        }
    }

    package var reasons: [String] {
        if case .nothing(let reasons) = answer { reasons } else { [] }
    }
}

/// A release, and where it was found.
public struct FoundRelease: Sendable {
    /// What the origin offers.
    public var release: Release
    package var format: any ReleaseFormat
    package var location: OriginLocation
    package var origin: OriginURL
    /// The address of its content, by which bans are kept; `nil` if the format does not give it.
    let content: ObjectID?
    var offeredAt = ContinuousClock.now
    /// The channel's pointer that offers it; `nil` for other formats.
    var observation: SeenSequences.Observation?
    var state = PointerState.unjudged
    /// What the channel's pointer names; `nil` for other formats.
    var published: PublishedVersion?
    /// The epochs of its objects; `nil` if not fetched, or if all objects are in the release's epoch.
    var places: Places?
    var deliveryEpoch: Int64 = 0
    /// The ways to fetch it; `nil` without packs.
    package var choice: DeliveryChoice?

    var packs: [Delivery.Pack] { choice?.packs ?? [] }

    /// Whether the manifest has not been fetched, so that ``release`` has no files; a pack brings both.
    package var isPromise: Bool { published != nil && release.received.isEmpty }

    func isSame(as other: FoundRelease) -> Bool {
        if let published, let others = other.published {
            // The same content may have moved.
            return published.manifest == others.manifest && published.epoch == others.epoch
                && published.places == others.places
        }
        return release.received == other.release.received
    }
}
