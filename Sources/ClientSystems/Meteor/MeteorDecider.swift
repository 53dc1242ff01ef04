import HotPush
package import Platform
import VersionTree

/// Answers Meteor's Cordova clients: the folder `__cordova` of a server.
///
/// Its URLs name no version. So a client that began before another release was offered finds the files of its own as long
/// as they have URLs of their own; what it gets besides has another label, and it refuses that.
package enum MeteorDecider: ClientDecider {
    package static var system: ClientSystem { .meteor }

    static let prefix = "/for/meteor/"
    private static let folder = "__cordova"
    /// How many contents a file is looked for in.
    private static let contentCountMax = 4
    private static let missing = ClientAnswer.notFound("There is no such file.\n")

    package static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard let segments = request.segments(below: prefix) else { return nil }
        guard request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard case .names(let names) = segments, names.count > 2, names[1] == folder,
            let name = configuration.deployments[names[0]],
            let channel = try origin.channel(name, for: .meteor),
            let newest = channel.newest(besides: MeteorPublishing.kinds)
        else { return missing }
        if names.count == 3, names[2] == "manifest.json" {
            guard let document = newest.offer.documents.first else { return missing }
            return ClientAnswer(
                200,
                [
                    ClientRequest.Field("content-type", "application/json; charset=utf-8"),
                    ClientRequest.Field("cache-control", "no-cache"),
                ], body: .document(document, .meteor))
        }
        // An encoded slash would make a second URL for a file.
        guard !names.contains(where: { $0.utf8.contains(0x2f) }) else { return missing }
        let path = names[2...].joined(separator: "/")
        try origin.willFetch(composing: false)
        for offer in offers(newest.offer, channel) {
            guard let content = try origin.content(of: offer),
                let entry = try MeteorProgram.file(path, in: content.manifest)
            else { continue }
            return answer(entry)
        }
        return missing
    }

    /// The newest offer, then those of other contents from before.
    private static func offers(_ newest: ClientOffer, _ channel: ClientChannel) -> [ClientOffer] {
        var offers = [newest]
        var seen = Set([newest.version?.content])
        for offer in channel.past.reversed() where offer.sequence < newest.sequence {
            guard offers.count < contentCountMax else { break }
            if seen.insert(offer.version?.content).inserted { offers.append(offer) }
        }
        return offers
    }

    private static func answer(_ entry: Manifest.Entry) -> ClientAnswer {
        var answer = ClientAnswer.file(entry)
        let label = MeteorProgram.label(of: entry)
        if let label { answer.fields.append(ClientRequest.Field("etag", "\"\(label.text)\"")) }
        if label?.isFinal == true { return answer }
        answer.fields = answer.fields.map {
            $0.name == "cache-control" ? ClientRequest.Field("cache-control", "no-cache") : $0
        }
        return answer
    }
}
