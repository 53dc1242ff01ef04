import CASStore
import HotPush
import Origin

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
