import Bsdiff
package import CASStore
package import HotPush
package import Origin
import Synchronization
package import VersionTree

/// Makes the offers of all enabled systems before a pointer is written, and records the outcomes.
package struct ClientAnnouncing: OfferAnnouncing {
    var rules = ClientSystem.feeds
    package var systems: Set<ClientSystem>?
    /// Whether the pointer is written even if one system cannot be told of it, which is then reported.
    ///
    /// For urgent changes such as a withdrawal. Damage never blocks a pointer that offers nothing new. The server
    /// answers that system's clients with 503 until the damage is mended.
    package var isUrgent = false
    /// Whether a release that cannot be offered to one enabled system is offered to nobody.
    package var isStrict = false
    /// Whether a key other than the one that signed the last offer may sign.
    package var adoptsKeys = false
    /// Receives the systems that a release is not offered to, and why; `nil` sends this to the origin's notices.
    package var warn: (@Sendable (String) -> Void)?
    package var signers: [ClientSystem: any ClientSigner] = [:]
    /// Makes patches for clients that take them; `nil` to make none, and keep those that there are.
    package var patches: PatchAnnouncing?
    /// Whether a version is offered before patches to it are made.
    package var delaysPatches = false
    /// Settings about to be stored; they override the origin's.
    var pending: ClientConfiguration?
    /// Which current offers are made anew, because new settings change their content.
    var renewal = Renewal.none
    private let told = Outcomes()

    enum Renewal {
        case none
        /// Those with documents, which name URLs.
        case documents
        /// All: their archives and digests change.
        case all

        func includes(_ offer: ClientOffer) -> Bool {
            switch self {
            case .none: false
            case .documents: !offer.documents.isEmpty
            case .all: true
            }
        }
    }

    private final class Outcomes: Sendable {
        let outcomes = Mutex<[ClientOutcome]>([])
    }

    package init() {}

    package var outcomes: [ClientOutcome] { told.outcomes.withLock { $0 } }

    package func announces(
        of channel: ChannelName, in clients: ClientLog
    ) throws(StoreError) -> Bool {
        try configurations(clients, passingOver: leaveOut).contains { $0.announces(of: channel) }
    }

    package func announce(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, in clients: ClientLog
    ) throws(StoreError) {
        let passesOver = isUrgent || before.map { $0.offersAll(of: pointer) } ?? false
        if !passesOver { try refuseTakingBack(pointer, upon: before, clients) }
        func passOver(_ system: ClientSystem, _ error: StoreError) {
            clients.notice(
                "the clients of \(system.rawValue) are told nothing of it, and get no answers from this channel until "
                    + "that is mended: \(error.message)")
        }
        let configurations = try configurations(clients) { (system, error) throws(StoreError) in
            if passesOver { return passOver(system, error) }
            try leaveOut(system, error)
            if system != pending?.system {
                try say(
                    "nothing is offered to the clients of \(system.rawValue): \(error.message)",
                    clients)
            }
        }
        for configuration in configurations where configuration.announces(of: pointer.channel) {
            do throws(StoreError) {
                try announce(configuration, pointer, upon: before, clients)
            } catch {
                guard passesOver, configuration.system != pending?.system, error.isOfClients
                else { throw error }
                passOver(configuration.system, error)
            }
        }
        do throws(StoreError) {
            let written = try clients.patches(of: pointer.channel)
            var known = written
            if known.trim(to: pointer) {
                known.fit(after: written)
                clients.set(known.file)
            }
            // A version that is to be offered fast gets its patches with its packs.
            let isOffered = before.map { $0 == pointer || $0.offersAll(of: pointer) } ?? false
            if isOffered || !delaysPatches {
                try patches?.announce(pointer, configurations, clients)
            }
        } catch {
            guard error.isOfClients || Self.withoutPatches.contains(error.code) else { throw error }
            clients.notice(
                "there are no new patches for the clients of other systems: \(error.message)")
        }
    }

    /// Why a release is offered without patches.
    private static let withoutPatches: [StoreError.Code] = [
        .outOfSpace, .outOfMemory, .unsupported, .unsuitableRelease, .badPatch,
    ]

    /// Skips a system whose configuration is unreadable, unless it was named: a stranger's log entry must not block a
    /// release for all other systems.
    func leaveOut(_ system: ClientSystem, _ error: StoreError) throws(StoreError) {
        let isNone = [.badClients, .unsupportedFormat].contains(error.code)
        guard isUrgent || systems == nil && isNone else { throw error }
    }

    private func configurations(
        _ clients: ClientLog,
        passingOver passOver: (ClientSystem, StoreError) throws(StoreError) -> Void
    ) throws(StoreError) -> [ClientConfiguration] {
        let existing = try clients.configurations(of: systems, passingOver: passOver)
        guard let pending, systems.map({ $0.contains(pending.system) }) ?? true else {
            return existing
        }
        return (existing.filter { $0.system != pending.system } + [pending])
            .sorted { $0.system < $1.system }
    }

    func rules(of system: ClientSystem) throws(StoreError) -> any ClientFeed.Type {
        for rules in rules where rules.system == system { return rules }
        throw StoreError(
            .unsupported,
            "this castree does not know how to offer releases to the clients of \(system.rawValue); use a newer one"
        )
    }

    private func announce(
        _ configuration: ClientConfiguration, _ pointer: ChannelPointer,
        upon before: ChannelPointer?, _ clients: ClientLog
    ) throws(StoreError) {
        let system = configuration.system
        let rules = try rules(of: system)
        let existing = try clients.history(of: pointer.channel, system)
        let unforged = try unforged(existing, rules, clients)
        var history = unforged ?? existing
        let renewal = system == pending?.system ? renewal : .none
        let unmended = try mendDocuments(of: history, pointer, rules, configuration, clients)
        let lacking = history.lacking(
            pointer, upon: before, ordersByTime: rules.ordersByTime
        ) { offer in
            renewal.includes(offer) || unmended.contains(offer.sequence)
                || offer.version != nil && rules.isIncomplete(offer)
        }
        guard !lacking.isEmpty || unforged != nil else { return }
        for release in lacking {
            // Do not repeat a refusal on each publish. A version that is published again is the newest; enabling a
            // system checks all of them, also where the pointer only gains facts.
            let sequence = release.release.sequence
            let isNew =
                pending != nil
                || (before == pointer
                    ? sequence == pointer.releases.first?.sequence
                    : before?.releases.contains { $0.sequence == sequence } != true)
            // A history that is lost is made again; from another, the release was left out (--for).
            guard isNew || release.isAgain || existing.offers.isEmpty else { continue }
            guard
                var client = try ClientRelease.published(
                    release.release, now: history.time(of: release, in: pointer),
                    for: configuration, in: clients)
            else {
                if isNew { try say(Self.withoutFacts(release.release, system, clients), clients) }
                continue
            }
            client.head = before?.releases.first?.sequence
            let outcome = try self.outcome(of: client, rules, history, clients)
            if isNew || outcome.prepared != nil {
                told.outcomes.withLock { outcomes in
                    // After a lost race, the release is announced anew.
                    outcomes.removeAll {
                        $0.system == system && $0.release.version == outcome.release.version
                    }
                    outcomes.append(outcome)
                }
                try say(outcome, clients)
            }
            guard let prepared = outcome.prepared else { continue }
            var offer = prepared.offer
            for position in offer.documents.indices {
                let address = offer.documents[position].address
                guard let bytes = prepared.documents[address] else { continue }
                offer.documents[position].epoch = try clients.write(
                    document: bytes, address, of: system.announced)
            }
            try history.append(
                offer, keeping: configuration.historyCount, of: pointer)
        }
        if history.offers != existing.offers { try clients.set(history, of: pointer) }
    }

    func outcome(
        of release: ClientRelease, _ rules: any ClientFeed.Type,
        _ history: ClientHistory, _ clients: ClientLog
    ) throws(StoreError) -> ClientOutcome {
        let objections = try rules.objections(to: release)
        let refusals = objections.filter(\.refuses)
        // What clients would make of a release is not true of one that they do not get.
        var outcome = ClientOutcome(
            system: rules.system, release: release.release,
            objections: refusals.isEmpty ? objections : refusals)
        guard refusals.isEmpty else { return outcome }
        if let objection = try keyObjection(rules, history, clients) {
            guard adoptsKeys else { throw objection }
            let system = rules.system.rawValue
            clients.notice(
                "what the clients of \(system) were offered last was signed, and this is not, since --adopt: those that ask "
                    + "for a signature do not take it (--client-key \(system)=FILE signs it)")
        }
        let signer = signers[rules.system]
        do throws(StoreError) {
            let prepared = try rules.offer(release, after: history, signer: signer)
            for document in prepared.offer.documents
            where document.byteCount > ClientDocument.byteCountMax {
                throw StoreError(
                    .unsuitableRelease,
                    "what its clients would be told of the files has \(document.byteCount) bytes; the server sends at most "
                        + "\(ClientDocument.byteCountMax): publish fewer files")
            }
            outcome.prepared = prepared
        } catch {
            // Reasons that only the history shows, such as a name that clients know with other content.
            guard error.code == .unsuitableRelease else { throw error }
            var refusal: [ClientObjection] = []
            refusal.refuse(error.message)
            outcome.objections = refusal
        }
        return outcome
    }

    private func say(
        _ outcome: ClientOutcome, _ clients: ClientLog
    ) throws(StoreError) {
        var system = outcome.system.rawValue
        let version = outcome.release.version.map { "version \($0.name)" } ?? "an order to go back"
        if let pending {
            // Enabling a system is about that system, and about every release of its channels.
            guard outcome.system == pending.system else { return }
            system += ": \(version)"
        }
        for objection in outcome.objections {
            guard objection.refuses else {
                clients.notice("\(system): \(objection.message)")
                continue
            }
            // A system that was named must not be skipped silently.
            if let systems, systems.contains(outcome.system) {
                throw StoreError(
                    .notExpressible,
                    "nothing is offered: \(outcome.system.rawValue): \(objection.message)")
            }
            try say(
                "\(version) is not offered to the clients of \(outcome.system.rawValue): \(objection.message)",
                clients)
        }
    }

    /// Reports that a system is left out; with `isStrict`, that is an error.
    private func say(_ sentence: String, _ clients: ClientLog) throws(StoreError) {
        if isStrict {
            throw StoreError(.notExpressible, "nothing is offered, since --strict: \(sentence)")
        }
        (warn ?? clients.notice)(sentence)
    }

    private static func withoutFacts(
        _ release: ChannelRelease, _ system: ClientSystem, _ clients: ClientLog
    ) -> String {
        let name = release.version?.name.description ?? "embedded"
        return
            "version \(name) is not offered to the clients of \(system.rawValue): what they need of it is not in the "
            + "origin; castree origin enable \(printable(clients.path)) \(system.rawValue) makes it"
    }
}

package struct ClientOutcome: Sendable {
    package var system: ClientSystem
    package var release: ChannelRelease
    package var objections: [ClientObjection]
    package var prepared: PreparedClientOffer?
}

extension ChannelPointer {
    fileprivate func offersAll(of next: ChannelPointer) -> Bool {
        let known = Set(releases.map(\.sequence))
        return next != self && next.releases.allSatisfy { known.contains($0.sequence) }
    }
}

extension ClientConfiguration {
    package func announces(of channel: ChannelName) -> Bool {
        deployments.values.contains(channel)
    }
}

// Apps know one key, so what was signed for them once must be signed by it again.

extension ClientAnnouncing {
    /// Why an offer may not follow a history: it would not be signed, or by another key than that of the clients' last
    /// offer, the only one they know; `nil` if it may.
    func keyObjection(
        _ rules: any ClientFeed.Type, _ history: ClientHistory, _ clients: ClientLog
    ) throws(StoreError) -> StoreError? {
        let system = rules.system.rawValue
        guard let signer = signers[rules.system] else {
            // Content that was shipped with the app is not signed.
            let last = history.offers.last { $0.isSigned || $0.version != nil }
            guard last?.isSigned == true else { return nil }
            return StoreError(
                .signingFailed,
                "what the clients of \(system) were offered last was signed: sign this, too, with --client-key "
                    + "\(system)=FILE or --client-sign-command \(system)=COMMAND; if nobody here has ever signed for them, "
                    + "a stranger wrote that: say --adopt")
        }
        guard !adoptsKeys, let last = history.offers.last(where: \.isSigned) else { return nil }
        let isSame = try rules.isSigned(last, by: signer) { (document) throws(StoreError) in
            try clients.bytes(of: document, rules.system)
        }
        guard isSame == false else { return nil }
        return StoreError(
            .signingFailed,
            "what the clients of \(system) were offered last was signed by another key, and apps that know that one "
                + "refuse this: name that key, or say --adopt if all apps know the new one")
    }

    /// A history without the newest offers, if those alone forbid continuing and a stranger may have made them up;
    /// `nil` if it stands as it is.
    ///
    /// No entry with them has a pointer that a trusted key has signed.
    func unforged(
        _ history: ClientHistory, _ rules: any ClientFeed.Type, _ clients: ClientLog
    ) throws(StoreError) -> ClientHistory? {
        guard var proved = try clients.provedHistory(of: history.channel, rules.system),
            try keyObjection(rules, history, clients) != nil,
            try keyObjection(rules, proved, clients) == nil
        else { return nil }
        // Labels of theirs may be known.
        proved.labelCount = max(proved.labelCount, history.labelCount)
        clients.notice(
            "somebody without a key trusted here has added signed offers to what the clients of \(rules.system.rawValue) were "
                + "told of channel \(history.channel): they are passed over, and what the keys have signed before is built upon"
        )
        return proved
    }
}

// Documents of the feeds that are missing or damaged, which only publishing can make.

extension ClientAnnouncing {
    /// Rewrites the missing or damaged documents of the releases on offer.
    ///
    /// They are made as they were the first time, so clients see no change.
    /// - Returns: the sequences of the releases for which that gave other bytes; they need new offers.
    func mendDocuments(
        of history: ClientHistory, _ pointer: ChannelPointer, _ rules: any ClientFeed.Type,
        _ configuration: ClientConfiguration, _ clients: ClientLog
    ) throws(StoreError) -> Set<Int64> {
        var others: Set<Int64> = []
        for release in pointer.releases {
            guard
                let position = history.offers.lastIndex(where: { $0.sequence == release.sequence }),
                history.offers[position].isOffer(of: release)
            else { continue }
            let offer = history.offers[position]
            var missing: [ClientDocument] = []
            for document in offer.documents where try !clients.has(document, of: rules.system) {
                missing.append(document)
            }
            guard !missing.isEmpty,
                let client = try ClientRelease.published(
                    release, now: offer.createdAt, for: configuration, in: clients)
            else { continue }
            var before = history
            before.offers = Array(history.offers[..<position])
            let signer = offer.isSigned ? signers[rules.system] : nil
            let made = try rules.offer(client, after: before, signer: signer)
            for document in missing {
                if let bytes = made.documents[document.address] {
                    _ = try clients.write(
                        document: bytes, document.address, of: rules.system.announced,
                        in: document.epoch
                    )
                } else if offer.isSigned, signer == nil {
                    clients.notice(Self.unsigned(document, rules.system))
                } else {
                    others.insert(release.sequence)
                }
            }
        }
        return others
    }

    private static func unsigned(_ document: ClientDocument, _ system: ClientSystem) -> String {
        let system = system.rawValue
        return
            "\(OriginLayout.clientDocument(document.address, of: system)) is missing or damaged, and holds signatures: "
            + "publish the version again, with --client-key \(system)=FILE or --client-sign-command \(system)=COMMAND"
    }
}

// What the feeds would announce, and what they refuse before anything is announced.

extension ClientAnnouncing {
    /// What publishing by a plan would announce; writes nothing.
    /// - Parameters:
    ///   - plan: of ``Origin/Publisher/plan(_:of:as:)``.
    ///   - versions: has the version.
    /// - Throws: as publishing does; an objection is an outcome.
    package func outcomes(
        of plan: PublishPlan, _ versions: VersionStore, by publisher: OriginPublisher
    ) throws(StoreError) -> [ClientOutcome] {
        guard let facts = plan.facts, let release = plan.pointer.releases.first else { return [] }
        let clients = try publisher.clients(with: versions)
        try refuseTakingBack(plan.pointer, upon: plan.before, clients)
        let manifest = try versions.registeredManifest(of: plan.version.name.description)
        let content = clients.content(of: manifest, facts.facts)
        var outcomes: [ClientOutcome] = []
        for configuration in try clients.configurations(of: systems, passingOver: leaveOut)
        where configuration.announces(of: plan.pointer.channel) {
            let rules = try rules(of: configuration.system)
            let existing = try clients.history(of: plan.pointer.channel, configuration.system)
            let history = try unforged(existing, rules, clients) ?? existing
            let now = history.time(
                of: ClientHistory.Lacking(release: release, isAgain: false), in: plan.pointer)
            var client = ClientRelease(
                release, content, now: now, for: configuration, in: clients)
            client.head = plan.before?.releases.first?.sequence
            var outcome = try self.outcome(of: client, rules, history, clients)
            // Ids that depend on the time are not known yet; find them by making a second offer later.
            client.now = max(now, history.newest?.createdAt ?? now) + 1000
            if let offer = outcome.prepared?.offer,
                let later = try self.outcome(of: client, rules, history, clients)
                    .prepared?.offer
            {
                outcome.prepared?.offer = offer.what(isAlsoIn: later)
            }
            outcomes.append(outcome)
            if isStrict, let refusal = outcome.objections.first(where: { $0.refuses }) {
                throw StoreError(
                    .notExpressible,
                    "nothing would be offered, since --strict: version \(plan.version.name) is not for the clients of "
                        + "\(outcome.system.rawValue): \(refusal.message)")
            }
        }
        return outcomes
    }

    /// Refuses to narrow an existing offer: clients that have the release would not learn of it, and the others would
    /// get an older one.
    /// - Throws: `.notExpressible`.
    func refuseTakingBack(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, _ clients: ClientLog
    ) throws(StoreError) {
        guard let before, before != pointer else { return }
        try refuseNarrowing(pointer, upon: before, clients)
        guard let systems else { return }
        let listed = Set(pointer.releases.map(\.sequence))
        let replaced = before.releases.filter { old in
            !listed.contains(old.sequence)
                && pointer.releases.first?.version?.content == old.version?.content
        }
        guard !replaced.isEmpty else { return }
        // Errors in another system's files are reported elsewhere.
        for configuration in try clients.configurations(passingOver: { _, _ in })
        where !systems.contains(configuration.system)
            && configuration.announces(of: pointer.channel)
        {
            let system = configuration.system
            let history: ClientHistory
            do throws(StoreError) {
                history = try clients.history(of: pointer.channel, system)
            } catch {
                guard error.isOfClients else { throw error }
                continue
            }
            guard let old = replaced.first(where: { history.offer(of: $0.sequence) != nil }) else {
                continue
            }
            let version =
                old.version.map { "version \($0.name)" } ?? "the embedded version"
            throw StoreError(
                .notExpressible,
                "nothing is offered: the clients of \(system.rawValue) were offered \(version) already, and would be led "
                    + "back to what is older: name them by --for, too, or leave it out")
        }
    }

    /// Refuses a smaller share of the clients than before, as CodePush's server does.
    private func refuseNarrowing(
        _ pointer: ChannelPointer, upon before: ChannelPointer, _ clients: ClientLog
    ) throws(StoreError) {
        func share(_ release: ChannelRelease) -> Int { release.rollout?.perMille ?? 1000 }
        // Only the first is offered now; an older one may have been for fewer when others got its content.
        guard let release = pointer.releases.first, let content = release.version?.content,
            let wider = before.releases.first(where: { old in
                old.version?.content == content && share(old) > share(release)
            }), let name = wider.version?.name
        else { return }
        let told = try clients.configurations(passingOver: leaveOut).first {
            $0.announces(of: pointer.channel)
        }
        guard let told else { return }
        throw StoreError(
            .notExpressible,
            "nothing is offered: version \(name) is offered to \(share(wider)) of 1000 devices already, and a smaller "
                + "share of its files takes it back from no client of \(told.system.rawValue): castree withdraw it "
                + "first, then publish to fewer")
    }
}

extension ClientOffer {
    /// Without the ids and digests that another offer of the same release does not have.
    fileprivate func what(isAlsoIn other: ClientOffer) -> ClientOffer {
        var offer = self
        if id != other.id { offer.id = nil }
        if label != other.label { offer.label = nil }
        if archive != other.archive { offer.archive = nil }
        if manifestDigest != other.manifestDigest { offer.manifestDigest = nil }
        offer.documents = zip(documents, other.documents).filter { $0.0.address == $0.1.address }
            .map(\.0)
        return offer
    }
}
