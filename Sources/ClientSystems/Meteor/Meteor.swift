import HotPush
import Platform
import VersionTree

/// The feed of Meteor's Cordova clients: the folder `__cordova` of a server.
///
/// URLs do not name a version. A client that began before another release was offered still finds its own files while
/// their URLs are unique to it; it refuses other files by their hash.
enum Meteor: ClientFeed {
    static let system = ClientSystem.meteor
    static let namesakes: String? = "Meteor's clients"

    static let prefix = "/for/meteor/"
    private static let folder = "__cordova"
    private static let contentCountMax = 4
    private static let missing = ClientAnswer.notFound("There is no such file.\n")

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard let names = inquiry.request.segments(below: prefix) else { return nil }
        guard inquiry.request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard names.count > 2, names[1] == folder,
            let channel = try inquiry.channel(of: names[0]),
            let newest = channel.newest(besides: kinds)
        else { return missing }
        if names.count == 3, names[2] == "manifest.json" {
            guard let document = newest.offer.documents.first else { return missing }
            return ClientAnswer(
                200,
                ["content-type": "application/json; charset=utf-8", "cache-control": "no-cache"],
                body: .document(document, .meteor))
        }
        // An encoded slash would give a file a second URL.
        guard !names.contains(where: { $0.utf8.contains(0x2f) }) else { return missing }
        let path = names[2...].joined(separator: "/")
        try inquiry.origin.willFetch(composing: false)
        for offer in offers(newest.offer, channel) {
            guard let content = try inquiry.origin.content(of: offer),
                let entry = try MeteorProgram.file(path, in: content.manifest)
            else { continue }
            return answer(entry)
        }
        return missing
    }

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
        if let label { answer.set("etag", "\"\(label.text)\"") }
        if label?.isFinal != true { answer.set("cache-control", "no-cache") }
        return answer
    }
}
