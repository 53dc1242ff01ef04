package import CASStore
package import HotPush
package import Origin
import Synchronization
import VersionTree

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
    }

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
