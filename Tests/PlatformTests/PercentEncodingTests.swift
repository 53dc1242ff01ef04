import Expectations
import Platform

// RFC 3986, sections 2.1 and 3.3.
@Suite("A path in a URL") struct PercentEncodingTests {
    @Test(arguments: [
        ("a/b.html", "a/b.html"), ("a b", "a%20b"), ("100%", "100%25"), ("%41", "%2541"),
        ("ä", "%C3%A4"), ("a?b#c", "a%3Fb%23c"), ("$&'()*+,;=:@!~", "$&'()*+,;=:@!~"),
        ("[\\]^`{|}\"<>", "%5B%5C%5D%5E%60%7B%7C%7D%22%3C%3E"), ("\u{7}", "%07"),
    ])
    func `is written so that one decoding gives it back`(_ name: String, _ url: String) {
        expect(PercentEncoding.name(name), equals: url)
        expect(PercentEncoding.path(of: Array(name.utf8)), equals: url)
        expect(PercentEncoding.decoded(url.utf8), equals: Array(name.utf8))
    }

    @Test func `may have bytes that are no text`() {
        expect(PercentEncoding.path(of: [0x61, 0xFF, 0x00]), equals: "a%FF%00")
    }

    @Test(
        "is not decoded where a percent sign begins no escape",
        arguments: ["%", "%4", "%4g", "a%zz"])
    func refused(_ text: String) { expect(PercentEncoding.decoded(text.utf8) == nil) }

    @Test func `keeps the escapes that its author has made`() {
        expect(PercentEncoding.path("a%20b c%"), equals: "a%20b%20c%25")
    }
}
