import HotPush
package import Platform

extension CodePushPublishing {
    package static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.label == nil || offer.packageHash == nil
    }

    package static func forgery(
        in offer: ClientOffer, of release: ClientRelease, _ configuration: ClientConfiguration,
        reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        let hash = try CodePushPackage(content, folder: configuration.folder).hash().description
        return offer.packageHash == hash ? nil : "its files have another package hash"
    }
}
