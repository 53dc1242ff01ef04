import BucketTestSupport
import HotPush

@Suite struct LocationTests {
    @Test func `a bucket, a prefix, an endpoint, a region and a profile are read`() throws {
        let whole = try BucketLocation(
            parsing: "s3://updates/app/v1/?endpoint=http%3A%2F%2F127.0.0.1%3A80&region=eu-west-1"
                + "&profile=a%20b")
        expect(whole.bucket, equals: "updates")
        expect(whole.prefix, equals: "app/v1")
        expect(whole.endpoint, equals: "http://127.0.0.1:80")
        expect(whole.region == "eu-west-1" && whole.profile == "a b")
        expect(whole.key("log/0000000001.json"), equals: "app/v1/log/0000000001.json")
        expect(whole.description, equals: "s3://updates/app/v1")
    }

    @Test(arguments: ["s3://updates", "s3://updates/", "s3://updates//"])
    func `without a prefix, keys begin at the bucket's root`(_ text: String) throws {
        let location = try BucketLocation(parsing: text)
        expect(location.prefix, equals: "")
        expect(location.key("origin.json"), equals: "origin.json")
    }

    @Test func `an endpoint need not be percent-encoded`() throws {
        let location = try BucketLocation(parsing: "s3://updates/app?endpoint=http://[::1]:9000")
        expect(location.endpoint, equals: "http://[::1]:9000")
    }

    @Test(arguments: [
        "s3:/updates", "s3://", "s3://ab", "s3://Updates/app", "s3://-updates", "s3://a..b/app",
        "s3://updates/a b", "s3://updates/a%20b", "s3://updates/ä", "s3://updates/a//b",
        "s3://updates//app", "s3://updates/app//", "S3://updates/app", "s3:updates",
        "s3://updates/../b", "s3://updates/./b", "s3://updates/app?", "s3://updates/app?region",
        "s3://updates/app?region=", "s3://updates/app?region=a&region=b",
        "s3://updates/app?profile=", "s3://updates/app?profile=x&profile=x",
        "s3://updates/app?key=x", "s3://updates/app?endpoint=%zz", "https://example.org",
    ])
    func `what is no such location is refused`(_ text: String) throws {
        expectRefusal(.badOrigin) { try BucketLocation(parsing: text) }
    }

    @Test(arguments: ["S3://updates/app", "s3:/updates/app", "s3:updates", "S3:/updates"])
    func `what is meant as a location is told how one begins`(_ text: String) throws {
        expect(BucketLocation.isOne(text))
        expectRefusal(saying: "begins with s3://") { try BucketLocation(parsing: text) }
    }

    @Test(arguments: ["s3://updates//app", "s3://updates/a//b", "s3://updates/app//"])
    func `a name is not taken for another one that has fewer slashes`(_ text: String) throws {
        expectRefusal(saying: "a prefix has neither //") { try BucketLocation(parsing: text) }
    }

    @Test(arguments: [
        "s3://user:s3cr3t@updates/app", "https://user:s3cr3t@store/updates",
        "s3://updates/app?endpoint=https%3A%2F%2Fuser%3As3cr3t%40store&region=",
        "s3://updates/app?endpoint=https://user:s3cr3t@store",
    ])
    func `a password is not shown`(_ text: String) {
        let error = expectRefusal(.badOrigin) { try BucketLocation(parsing: text) }
        expect(error?.message.contains("s3cr3t"), equals: false)
    }

    @Test func `a prefix of 700 bytes is taken, one of 701 refused`() throws {
        let longest = String(repeating: "a", count: 700)
        try expect(BucketLocation(parsing: "s3://updates/\(longest)").prefix, equals: longest)
        expectRefusal { try BucketLocation(parsing: "s3://updates/\(longest)a") }
    }

    @Test func `a tag is the same with and without its quotes`() {
        expect(EntityTag("\"abc\""), equals: EntityTag("abc"))
        expect(EntityTag("abc").spelled(.quoted), equals: "\"abc\"")
        expect(EntityTag("\"abc\"").spelled(.bare), equals: "abc")
    }
}
