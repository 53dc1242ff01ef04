import Expectations

@testable import Platform

@Suite("A message about a URL") struct CredentialTests {
    @Test(arguments: [
        ("\"ftp://me:secret@host/x\" is none", "\"ftp://…@host/x\" is none"),
        ("'http://me:se@cret@host'", "'http://…@host'"),
        ("/api=https://token@host:80/a@b, http://u:p@h", "/api=https://…@host:80/a@b, http://…@h"),
        ("http://host/a@b?c@d", "http://host/a@b?c@d"), ("me@host: no", "me@host: no"),
        // What people leave out, or do not encode.
        ("https//me:secret@host/x", "https//…@host/x"), ("//me:secret@host/x", "//…@host/x"),
        ("https:/me:secret@host", "https:/me:…@host"), ("https:me:secret@host", "https:…@host"),
        ("me:secret@host/x", "me:…@host/x"), ("'me:secret@host'", "'me:…@host'"),
        ("s3//KEY:secret@bucket/x", "s3//…@bucket/x"),
        ("https://me:sec/ret@host/x", "https://…@host/x"),
        ("me:sec/ret@host/x", "me:…@host/x"), ("a=//me:s@h,b=//me:s@h", "a=//…@h,b=//…@h"),
        ("http://u:a#b@h/x", "http://…@h/x"), ("http://u:a?b@h/x", "http://…@h/x"),
        ("'http://u:a b@h/x': no", "'http://…@h/x': no"), ("http://u:a\"b@h", "http://…@h"),
        ("https://u:a/b#c@h/x", "https://…@h/x"), ("https://u:a#b/c@h/x", "https://…@h/x"),
        ("https://u:a/b?c@h/x: no", "https://…@h/x: no"), ("u:a/b#c@h/x", "u:…@h/x"),
        ("https://u:a/b c@h/x", "https://…@h/x"), ("//u:a/b#c@h, //u:d/e@h", "//…@h, //…@h"),
        ("http://u:#ab@h/x", "http://…@h/x"), ("http://u:?b@h", "http://…@h"),
        ("http://u:12#b@h/x", "http://…@h/x"),
        ("http://u:a<b>c@h", "http://…@h"), ("//u:a b@h, //u:c#d@h", "//…@h, //…@h"),
        // What looks so and is none.
        ("http://h:80 is of me@h", "http://h:80 is of me@h"),
        ("\"http://h:80\", me@h", "\"http://h:80\", me@h"),
        ("http://h:80?x, me@h", "http://h:80?x, me@h"),
        ("http://h: no, me@h", "http://h: no, me@h"), ("//h and a: b@c", "//h and a: b@c"),
        ("http://[::1] is of me@h", "http://[::1] is of me@h"),
        ("http://[::1]/a@b", "http://[::1]/a@b"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("localhost:8080/@scope/x", "localhost:8080/@scope/x"),
        ("http://h:8080/@scope/x", "http://h:8080/@scope/x"), ("C:/a@b", "C:/a@b"),
        ("js/icon@2x.png: no", "js/icon@2x.png: no"),
        ("a://", "a://"), ("", ""),
    ])
    func `shows no user and no password`(_ text: String, _ shown: String) {
        expect(withoutCredentials(text, mark: "…"), equals: shown)
    }

    @Test(arguments: [
        ("to ftp://x/tok/en+Abcdefg=", "to ftp://x/…"),
        ("(to ftp://x/tok%2Fen%2BAbcdefg%3D)", "(to ftp://x/…)"),
        ("a tok%2fen%2bAbcdefg%3d b", "a … b"), ("tok%252Fen%252BAbcdefg%253D", "…"),
        ("%74%6F%6B%2F%65%6E%2B%41bcdefg%3D", "…"), ("TOK%2FEN%2BABCDEFG%3D", "…"),
        ("x=ok%2Fen%2BAbcdefg, cut", "x=…, cut"), ("a=tok%2Fen%2BAbcdef%20", "a=…%20"),
        ("tok/en+Abcdefg=tok/en+Abcdefg=", "…"), ("pw and %70w", "… and …"),
        // What is none, or no escape.
        ("tok/en and 100%", "tok/en and 100%"), ("%zz %4", "%zz %4"),
        ("größe %C3%A4", "größe %C3%A4"),
        ("", ""),
    ])
    func `repeats no secret, however it is spelled`(_ text: String, _ shown: String) {
        expect(hiding(["tok/en+Abcdefg=", "pw", ""], in: text), equals: shown)
    }

    @Test(arguments: [
        ("abc%2Fdef", ["abc%2Fdef", "abc%2fdef", "abc/def", "abc%252Fdef"]),
        ("p%41ss%FF%FEword", ["p%41ss%FF%FEword", "pAss%FF%FEword"]),
    ])
    func `repeats no secret that has percent signs itself`(_ secret: String, _ spellings: [String])
    {
        for text in spellings { expect(hiding([secret], in: "a \(text) b"), equals: "a … b") }
    }
}
