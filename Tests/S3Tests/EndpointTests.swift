import BucketTestSupport
import HotPush

/// Where requests go, by what is named and by convention.
@Suite struct EndpointTests {
    private func endpoint(
        _ endpoint: String?, _ region: String? = nil, bucket: String = "updates"
    ) throws -> BucketEndpoint {
        try BucketEndpoint(bucket: bucket, endpoint: endpoint, region: region)
    }

    @Test func `without an endpoint, the bucket is a host of AWS in its region`() throws {
        let place = try endpoint(nil, "eu-west-1")
        expect(
            place.origin + place.path("a"), equals: "https://updates.s3.eu-west-1.amazonaws.com/a")
        try expect(endpoint(nil).region, equals: "us-east-1")
        expect(place.path(nil), equals: "/")
    }

    @Test func `a dot in the bucket's name puts it into the path`() throws {
        let place = try endpoint(nil, "eu-west-1", bucket: "updates.example.org")
        expect(
            place.origin + place.path("a"),
            equals: "https://s3.eu-west-1.amazonaws.com/updates.example.org/a")
    }

    @Test(arguments: [
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/updates/a"),
        ("https://Store.example.org/", "https://store.example.org/updates/a"),
        ("https://store.example.org:443", "https://store.example.org/updates/a"),
        ("http://store:80/s3/", "http://store/s3/updates/a"),
        ("http://[::1]:9000", "http://[::1]:9000/updates/a"),
    ])
    func `an endpoint has the bucket in its path`(_ text: String, _ url: String) throws {
        let place = try endpoint(text)
        expect(place.origin + place.path("a"), equals: url)
        expect(!place.path(nil).hasSuffix("/"))
    }

    @Test(arguments: [
        "store:9000", "ftp://store", "http://", "http://:80", "http://a b", "http://u:p@store",
        "http://store?x", "http://store/#x", "http://store/a%20b", "https://store:", "//store",
    ])
    func `what is no endpoint is refused`(_ text: String) {
        #expect(throws: StoreError.self) { try endpoint(text) }
    }

    @Test(arguments: [
        "https://user:s3cr3t@store", "user:s3cr3t@store", "https://user:s3cr3t@store?x",
        "https://store/user:s3cr3t@x",
    ])
    func `a password is not shown`(_ text: String) {
        let error = expectRefusal(.badOrigin) { try endpoint(text) }
        expect(error?.message.contains("s3cr3t"), equals: false)
    }

    @Test func `a region's name has letters, digits and hyphens`() {
        #expect(throws: StoreError.self) { try endpoint(nil, "eu/west") }
        #expect(throws: StoreError.self) { try endpoint(nil, "") }
    }
}
