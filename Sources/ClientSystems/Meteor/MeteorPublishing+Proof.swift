import HotPush
package import Platform

extension MeteorPublishing {
    package static func isIncomplete(_ offer: ClientOffer) -> Bool { offer.documents.isEmpty }

    package static func forgery(
        in offer: ClientOffer, of release: ClientRelease, _ configuration: ClientConfiguration,
        reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        let program = try MeteorProgram(content.manifest)
        let bytes = program.bytes
        let address = try ObjectID(of: bytes)
        let isOwn =
            offer.documents.count == 1
            && offer.documents.allSatisfy { $0.id == program.version && $0.address == address }
        return isOwn ? nil : "its manifest lists other files"
    }
}
