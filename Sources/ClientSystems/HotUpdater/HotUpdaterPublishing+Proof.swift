import HotPush
package import Platform
import StrictJSON

extension HotUpdaterPublishing {
    package static func isIncomplete(_ offer: ClientOffer) -> Bool {
        offer.id == nil || offer.documents.isEmpty
    }

    package static func forgery(
        in offer: ClientOffer, of release: ClientRelease, _ configuration: ClientConfiguration,
        reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        guard let content = release.content else { return nil }
        guard let id = offer.id, let document = offer.documents.first, offer.documents.count == 1,
            document.id == id, document.address == offer.manifestDigest
        else { return "it names another manifest than its own" }
        // That it is missing is said when it is sent.
        guard let bytes = try documents(document) else { return nil }
        // Whoever has signed the files has done so in there; clients that ask for it verify that.
        var signatures: [ObjectID: String] = [:]
        // What is no JSON is another manifest, as is seen below.
        let assets = (try? JSONValue.parse(bytes))?["assets"]?.asObject ?? []
        for asset in assets {
            guard let hash = asset.value["fileHash"]?.asString, let address = ObjectID(hash),
                let signature = asset.value["signature"]?.asString
            else { continue }
            signatures[address] = signature
        }
        let own = HotUpdaterPackage.manifest(of: content, id: id, signatures: signatures)
        return own == bytes ? nil : "its manifest lists other files"
    }
}
