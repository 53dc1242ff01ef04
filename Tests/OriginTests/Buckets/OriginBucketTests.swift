import BucketTestSupport
import CurlTransport
import OriginTestSupport
import S3

@Suite("An origin in a bucket, from Swift") struct OriginBucketTests {
    @Test(
        "is refused before any request where its location or endpoint cannot be one",
        arguments: [
            "https://updates.example/app", "s3://", "s3:///app", "origin",
            "s3://updates/app?endpoint=ftp://store",
        ])
    func locations(_ location: String) {
        expectRefusal(.badOrigin) { _ = try OriginBucket(location) }
    }

    @Test func `takes endpoint and region from its options, else from the environment`() throws {
        var access = BucketAccess()
        access.environment = {
            [
                "AWS_ENDPOINT_URL": "http://store:9000", "AWS_REGION": "eu-south-1",
                "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
            ][$0]
        }
        func signed() throws -> SignedGet {
            try OriginBucket("s3://updates/app", access).storage.signedGet("origin.json")
        }
        func scope(_ get: SignedGet) -> String? {
            let signature = get.fields.first { $0.name.lowercased() == "authorization" }?.value
            return signature?.firstMatch(of: /\/([^\/]+\/s3\/aws4_request)/).map { String($0.1) }
        }
        let given = try signed()
        expect(given.url.hasPrefix("http://store:9000/"), "\(given.url)")
        expect(scope(given), equals: "eu-south-1/s3/aws4_request")
        (access.endpoint, access.region) = ("http://other:9001", "us-west-2")
        let other = try signed()
        expect(other.url.hasPrefix("http://other:9001/"), "\(other.url)")
        expect(scope(other), equals: "us-west-2/s3/aws4_request")
    }

    @Test(.enabled(if: RealStore.given != nil))
    func `is published to, pulled from and withdrawn from`() throws {
        let real = try require(RealStore.given)
        let location = try real.bucket().location
        var access = BucketAccess()
        access.endpoint = real.endpoint
        let keys = ["AWS_ACCESS_KEY_ID": real.keys.id, "AWS_SECRET_ACCESS_KEY": real.keys.secret]
        access.environment = { keys[$0] }
        let bucket = try OriginBucket("\(location)", access)
        let place = try PublishingPlace()
        let publisher = Publisher(bucket)
        try expect(publisher.plan("1", of: place.versions).objects.count > 1)
        for version in ["1", "2"] { try publisher.publish(version, of: place.versions) }
        try expect(publisher.plan("2", of: place.versions).objects.count, equals: 0)

        let device = try TemporaryStore()
        _ = try require(
            try Pull(into: device.versions, over: bucket.transport()).run("\(location)"))
        try expect(readTree(device.path + "/versions/2"), equals: PublishingPlace.second)
        let pointer = try publisher.withdraw(VersionName("2"))
        expect(pointer.releases.compactMap(\.version?.name.description), equals: ["1"])
        // What the store was probed with goes at once; what was withdrawn waits for its grace.
        let planned = try publisher.planCollection().fileCount
        expect(planned > 0)
        try expect(publisher.collect().fileCount, equals: planned)
        try expect(publisher.planCollection().fileCount, equals: 0)
    }
}
