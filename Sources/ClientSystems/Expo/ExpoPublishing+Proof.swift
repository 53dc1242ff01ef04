import HotPush
package import Platform
import StrictJSON

extension ExpoPublishing {
    package static func isIncomplete(_ offer: ClientOffer) -> Bool { offer.documents.isEmpty }

    package static func forgery(
        in offer: ClientOffer, of release: ClientRelease, _ configuration: ClientConfiguration,
        reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? {
        let plan = try Plan(release, configuration)
        guard offer.documents.map(\.platform) == plan.platforms,
            offer.documents.map(\.runtimeVersion) == plan.runtimeVersions
        else { return "it is for other platforms or runtime versions" }
        let latest = ExpoTime.text(offer.createdAt)
        for (position, document) in offer.documents.enumerated() {
            // That it is missing is said when it is sent.
            guard let bytes = try documents(document) else { continue }
            // What is no JSON is another document, as is seen below.
            let there = try? JSONValue.parse(bytes)
            let time =
                (there?["createdAt"] ?? there?["parameters"]?["commitTime"])?.asString ?? ""
            // What was offered before anything else keeps the time of its first offer.
            guard time.utf8.count == latest.utf8.count, time <= latest else {
                return "a document of it says that it is of another time"
            }
            let own = try plan.bytes(position, id: document.id, time: time)
            guard own == bytes else { return "a document of it names other files or URLs" }
        }
        return nil
    }
}
