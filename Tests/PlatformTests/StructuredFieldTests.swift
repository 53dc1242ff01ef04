import Expectations

@testable import Platform

/// RFC 8941: the dictionaries of section 3.2, and the rules of section 4.2.
@Suite("A dictionary of structured values") struct StructuredFieldTests {
    typealias Item = StructuredField.Item

    @Test func `is read as RFC 8941 says`() {
        let tables: [(String, [String: Item])] = [
            // As Expo's clients send it.
            (
                "sig, keyid=\"root\", alg=\"rsa-v1_5-sha256\"",
                [
                    "sig": .boolean(true), "keyid": .string("root"),
                    "alg": .string("rsa-v1_5-sha256"),
                ]
            ),
            ("en=\"Applepie\", da=:w4ZibGV0w6ZydGU=:", ["en": .string("Applepie"), "da": .other]),
            (
                "a=?0, b, c; foo=bar",
                ["a": .boolean(false), "b": .boolean(true), "c": .boolean(true)]
            ),
            ("rating=1.5, feelings=(joy sadness)", ["rating": .other, "feelings": .other]),
            (
                "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid",
                ["a": .other, "b": .other, "c": .other, "d": .other]
            ),
            (
                "a=-0,b=-999999999999999,c=999999999999.999",
                [
                    "a": .other, "b": .other,
                    "c": .other,
                ]
            ),
            ("a=?0,a", ["a": .boolean(true)]), ("a=foo/bar:baz", ["a": .other]),
            ("a=\"x \\\"y\\\" \\\\z\"", ["a": .string("x \"y\" \\z")]),
            ("  a  ", ["a": .boolean(true)]),
            ("a=1 \t,\t b=*x", ["a": .other, "b": .other]),
            ("true", ["true": .boolean(true)]), ("", [:]), ("a=()", ["a": .other]),
        ]
        for (text, members) in tables {
            let field = StructuredField(dictionary: text)
            let found = field.map { field in members.filter { field[$0.key] == $0.value } }
            expect(found?.count, equals: members.count, "\(text)")
        }
    }

    @Test func `is nothing if any of it breaks the grammar`() {
        for text in [
            "a=", "a=1,", ",a", "a,,b", "A=1", "=1", "a b", "a=\"x", "a=\"x\\n\"", "a=\"é\"",
            "a=?2",
            "a=:x:", "a=:eHg", "a=1.", "a=1.2345", "a=1234567890123456", "a=1234567890123.1",
            "a=--1",
            "a=(1 2", "a=(1,2)", "a;=1", "a;b=", "a=1;B", "é=1", "a=@1", "a\u{0}", "\ta",
            "a=(1 (2))",
        ] {
            expect(StructuredField(dictionary: text) == nil, "\(text)")
        }
    }

    @Test func `spells texts as strings, and none beyond printable ASCII`() {
        expect(StructuredField.string("main"), equals: "\"main\"")
        expect(StructuredField.string("a\"b\\c"), equals: "\"a\\\"b\\\\c\"")
        expect(["ü", "a\r\nb", "\u{7f}"].allSatisfy { StructuredField.string($0) == nil })
    }
}
