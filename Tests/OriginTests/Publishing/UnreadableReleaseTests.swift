import OriginTestSupport

/// What was published so that nobody can read it: a stranger's, or a newer castree's.
@Suite("A release whose documents cannot be read") struct UnreadableReleaseTests {
    @Test(arguments: ["manifest", "places", "delivery", "facts"])
    func `is named with its document, and how it goes`(_ kind: String) throws {
        let place = try PublishingPlace(offering: "1")
        let storage = try DirectoryStorage(place.origin, scratch: OriginLayout.work)
        let body = try StorageBody(Array("no document".utf8))
        let pointer = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        var (offered, path) = (pointer.releases[0], "")
        var version = try require(offered.version)
        switch kind {
        case "manifest":
            version.manifest = body.address
            path = OriginKey(.manifest, body.address, in: version.epoch).path
        case "places":
            version.places = body.address
            path = OriginKey(.places, body.address, in: version.epoch).path
        case "delivery":
            offered.delivery = PublishedDelivery(
                address: body.address, byteCount: body.byteCount, epoch: version.epoch)
            path = OriginKey(.delivery, body.address, in: version.epoch).path
        default:
            offered.facts = PublishedFacts(address: body.address, epoch: version.epoch)
            path = OriginKey(.facts, body.address, in: version.epoch).path
        }
        _ = try storage.put(path, body, .object)
        offered.target = .version(version)
        let files = ReleaseFiles(try require(LiveRelease(offered)), storage, nil)
        expectRefusal(
            saying: "version 1 is offered in \(place.origin)", path,
            "castree withdraw 1 \(place.origin)"
        ) { try files.contents() + files.packed() + files.announced() }
    }
}
