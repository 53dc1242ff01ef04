import Archives
import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

@Suite("A dry run for the clients of other systems") struct DryRunTests {
    let place: AnnouncingPlace

    init() throws { place = try AnnouncingPlace() }

    @Test("says beforehand what it would tell, but for what the time decides, and writes nothing")
    func dryRun() throws {
        try place.publish("1")
        try place.enable(.codePush, .expo)
        let files = try place.published()
        place.clock.advance(10)
        let announcing = place.announcing()
        let plan = try place.publisher().plan("2", of: place.versions)
        let reader = try place.reader
        let planned = try announcing.outcomes(
            of: plan, place.versions, by: place.publisher().engine(isDraft: true))
        try expect(place.published(), equals: files)
        let done = try place.publisher(announcing).publish("2", of: place.versions)
        expect(done.plan?.facts == plan.facts && done.pointer == plan.pointer)
        // All of it is there: nothing is said of it again.
        let again = try require(place.publisher().plan("2", of: place.versions).facts)
        expect(again.deflatedCopies.count == 0 && !again.writesFile)
        let told = announcing.outcomes
        expect(planned.map(\.system), equals: [.codePush, .expo])
        expect(planned[0].prepared?.offer, equals: told[0].prepared?.offer)
        // What is made of the time will be another when it is published: that is not promised.
        var timed = try require(told[1].prepared?.offer)
        expect(!timed.documents.isEmpty)
        timed.documents = []
        expect(planned[1].prepared?.offer, equals: timed)
        // The digest is that of the archive as anybody composes it.
        let live = try place.channel(.codePush).live[0]
        let version = try require(live.offer.version)
        let facts = try require(live.release.facts?.address)
        let content = ClientContent(
            manifest: try Manifest(parsing: require(try reader.manifestBytes(version.manifest))),
            facts: try require(try reader.facts(facts)))
        let archive = try ZipArchive(content.zipped).bytes { address, isTwin in
            let path = OriginLayout.path(isTwin ? .deflatedCopy : .object, address)
            return try Damage.contents(place.origin + "/" + path)
        }
        try expect(ObjectID(of: archive), equals: live.offer.archive?.sha256)
        expect(Int64(archive.count), equals: live.offer.archive?.byteCount)
    }
}
