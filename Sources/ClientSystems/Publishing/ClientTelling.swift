package import CASStore
package import HotPush
import Synchronization
import VersionTree

/// Makes the offers of all enabled systems before a pointer is written, and remembers what came of it.
package struct ClientTelling: OfferTelling {
    /// The rules of the systems that this castree knows.
    var rules = ClientSystem.feeds
    /// Only these systems are told; `nil` for all that are enabled.
    package var systems: Set<ClientSystem>?
    /// Whether nothing that one system cannot be told holds anything up: it is said, and the pointer is written all the same.
    ///
    /// For what must not wait, as when a version is withdrawn. Damage never holds up a pointer that offers nothing new. The
    /// server answers that system's clients with 503 until it is mended.
    package var isUrgent = false
    /// Whether a release that an enabled system cannot be offered is offered to nobody.
    package var isStrict = false
    /// Whether another key may sign from now on than the one that signed what was offered last.
    package var adoptsKeys = false
    /// Told which systems a release is not offered to, and why; `nil` tells the origin's notices.
    package var warn: (@Sendable (String) -> Void)?
    /// Who signs for the clients of a system.
    package var signers: [ClientSystem: any ClientSigner] = [:]
    /// What is about to be set for a system; counts instead of what the origin says.
    var pending: ClientConfiguration?
    /// Which offers of what is live are made anew, since what was set changed what they say.
    var renewal = Renewal.none
    private let told = Told()

    /// Which offers are made anew.
    enum Renewal {
        /// None.
        case none
        /// Those with documents, which name URLs.
        case documents
        /// All: their archives and digests are others.
        case all

        func includes(_ offer: ClientOffer) -> Bool {
            switch self {
            case .none: false
            case .documents: !offer.documents.isEmpty
            case .all: true
            }
        }
    }

    private final class Told: Sendable {
        let outcomes = Mutex<[ClientOutcome]>([])
    }

    /// Tells the clients of all systems.
    package init() {}

    /// What came of the releases that were to be told so far, in the order in which that was.
    package var outcomes: [ClientOutcome] { told.outcomes.withLock { $0 } }

    package func tells(
        of channel: ChannelName, in clients: ClientLog
    ) throws(StoreError) -> Bool {
        try configurations(clients, passingOver: leaveOut).contains { $0.tells(of: channel) }
    }

    package func tell(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, in clients: ClientLog
    ) throws(StoreError) {
        if !isUrgent { try refuseTakingBack(pointer, upon: before, clients) }
        let passesOver = isUrgent || before.map { $0.offersAll(of: pointer) } ?? false
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
        for configuration in configurations where configuration.tells(of: pointer.channel) {
            do throws(StoreError) {
                try tell(configuration, pointer, upon: before, clients)
            } catch {
                guard passesOver, configuration.system != pending?.system, error.isOfClients
                else { throw error }
                passOver(configuration.system, error)
            }
        }
    }

    /// Leaves a system out whose configuration is none: a stranger's entry of the log keeps no release from all others,
    /// unless the system was asked for by name.
    func leaveOut(_ system: ClientSystem, _ error: StoreError) throws(StoreError) {
        let isNone = [.badClients, .unsupportedFormat].contains(error.code)
        guard isUrgent || systems == nil && isNone else { throw error }
    }

    /// The configurations of the systems that are meant, also of what is about to be set.
    private func configurations(
        _ clients: ClientLog,
        passingOver passOver: (ClientSystem, StoreError) throws(StoreError) -> Void
    ) throws(StoreError) -> [ClientConfiguration] {
        let standing = try clients.configurations(of: systems, passingOver: passOver)
        guard let pending, systems.map({ $0.contains(pending.system) }) ?? true else {
            return standing
        }
        return (standing.filter { $0.system != pending.system } + [pending])
            .sorted { $0.system < $1.system }
    }

    func rules(of system: ClientSystem) throws(StoreError) -> any ClientFeed.Type {
        for rules in rules where rules.system == system { return rules }
        throw StoreError(
            .unsupported,
            "this castree does not know how to offer releases to the clients of \(system.rawValue); use a newer one"
        )
    }

    private func tell(
        _ configuration: ClientConfiguration, _ pointer: ChannelPointer,
        upon before: ChannelPointer?, _ clients: ClientLog
    ) throws(StoreError) {
        let system = configuration.system
        let rules = try rules(of: system)
        var history = try clients.history(of: pointer.channel, system)
        let standing = history
        let renewal = system == pending?.system ? renewal : .none
        let unmended = try mendDocuments(of: history, pointer, rules, configuration, clients)
        let lacking = history.lacking(
            pointer, upon: before, ordersByTime: rules.ordersByTime
        ) { offer in
            renewal.includes(offer) || unmended.contains(offer.sequence)
                || offer.version != nil && rules.isIncomplete(offer)
        }
        guard !lacking.isEmpty else { return }
        for release in lacking {
            // What was refused before is not said again each time: a version that is published again is the newest, and
            // who enables a system asks for all, also where the pointer gains facts by that.
            let sequence = release.release.sequence
            let isNew =
                pending != nil
                || (before == pointer
                    ? sequence == pointer.releases.first?.sequence
                    : before?.releases.contains { $0.sequence == sequence } != true)
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
                told.outcomes.withLock { $0.append(outcome) }
                try say(outcome, clients)
            }
            guard let prepared = outcome.prepared else { continue }
            var offer = prepared.offer
            for position in offer.documents.indices {
                let address = offer.documents[position].address
                guard let bytes = prepared.documents[address] else { continue }
                offer.documents[position].epoch = try clients.write(
                    document: bytes, address, of: system.told)
            }
            try history.append(
                offer, keeping: configuration.historyCount, of: pointer)
        }
        if history.offers != standing.offers { try clients.set(history, of: pointer) }
    }

    /// What becomes of a release: the offer, unless something refuses it.
    func outcome(
        of release: ClientRelease, _ rules: any ClientFeed.Type,
        _ history: ClientHistory, _ clients: ClientLog
    ) throws(StoreError) -> ClientOutcome {
        let objections = try rules.objections(to: release)
        var outcome = ClientOutcome(
            system: rules.system, release: release.release, objections: objections)
        guard !objections.contains(where: \.refuses) else { return outcome }
        let signer = signers[rules.system]
        // Nothing is signed of what was shipped with the app.
        if signer == nil,
            history.offers.last(where: { $0.isSigned || $0.version != nil })?.isSigned == true
        {
            let system = rules.system.rawValue
            guard adoptsKeys else {
                throw StoreError(
                    .signingFailed,
                    "what the clients of \(system) were offered last was signed: sign this, too, with --client-key "
                        + "\(system)=FILE or --client-sign-command \(system)=COMMAND; if nobody here has ever signed for them, "
                        + "a stranger wrote that: say --adopt")
            }
            clients.notice(
                "what the clients of \(system) were offered last was signed, and this is not, since --adopt: those that ask "
                    + "for a signature do not take it (--client-key \(system)=FILE signs it)")
        }
        if let signer { try refuseOtherKey(signer, rules, history, clients) }
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
            // What only the history shows, such as a name that clients know with other content.
            guard error.code == .unsuitableRelease else { throw error }
            outcome.objections.refuse(error.message)
        }
        return outcome
    }

    private func say(
        _ outcome: ClientOutcome, _ clients: ClientLog
    ) throws(StoreError) {
        var system = outcome.system.rawValue
        let version = outcome.release.version.map { "version \($0.name)" } ?? "an order to go back"
        if let pending {
            // Who enables a system asks for that one, and of all that its channels offer.
            guard outcome.system == pending.system else { return }
            system += ": \(version)"
        }
        for objection in outcome.objections {
            guard objection.refuses else {
                clients.notice("\(system): \(objection.message)")
                continue
            }
            // Who asks for a system by name does not want to hear that it was left out.
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

    /// Says that a system is left out; strictly, that is an error.
    private func say(_ sentence: String, _ clients: ClientLog) throws(StoreError) {
        if isStrict {
            throw StoreError(.notExpressible, "nothing is offered, since --strict: \(sentence)")
        }
        (warn ?? clients.notice)(sentence)
    }

    private static func withoutFacts(
        _ release: OfferedRelease, _ system: ClientSystem, _ clients: ClientLog
    ) -> String {
        let name = release.version?.name.description ?? "embedded"
        return
            "version \(name) is not offered to the clients of \(system.rawValue): what they need of it is not in the "
            + "origin; castree origin enable \(printable(clients.path)) \(system.rawValue) makes it"
    }
}

/// What came of a release for the clients of one system.
package struct ClientOutcome: Sendable {
    package var system: ClientSystem
    package var release: OfferedRelease
    /// What cannot be told of it.
    package var objections: [ClientObjection]
    /// The offer; `nil` if something refuses it.
    package var prepared: PreparedClientOffer?
}

extension ChannelPointer {
    /// Whether it offers already, among others, what another pointer of the channel does, which is not the same.
    fileprivate func offersAll(of next: ChannelPointer) -> Bool {
        let known = Set(releases.map(\.sequence))
        return next != self && next.releases.allSatisfy { known.contains($0.sequence) }
    }
}

extension ClientConfiguration {
    /// Whether a channel is told to anybody.
    package func tells(of channel: ChannelName) -> Bool {
        deployments.values.contains(channel)
    }
}
