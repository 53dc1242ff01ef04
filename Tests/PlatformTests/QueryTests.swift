import Expectations

@testable import Platform

@Suite("A message about an address") struct QueryTests {
    @Test(arguments: [
        ("https://h/x?X-Amz-Signature=abc&b=c", "https://h/x?X-Amz-Signature=*&b=*"),
        ("no answer from 'https://h/x?t=abc'; wait", "no answer from 'https://h/x?t=*'; wait"),
        ("(to https://h/x?abc#d)", "(to https://h/x?*)"), ("//h?a=b: no", "//h?a=*: no"),
        ("http://h/#SECRET", "http://h/#*"),
        ("no: 'https://h/x#a?b=c'.", "no: 'https://h/x#*'."),
        ("\"s3://b/p#SECRET\" is none", "\"s3://b/p#*\" is none"),
        ("https://h/x#", "https://h/x#"),
        // What is no address.
        ("a#b.txt", "a#b.txt"), ("chapter #3", "chapter #3"),
        ("is it http, not https?", "is it http, not https?"), ("a?b.txt", "a?b.txt"),
        ("https://h/x?", "https://h/x?"), ("", ""),
    ])
    func `shows no value of a query`(_ text: String, _ shown: String) {
        expect(withoutQueries(text, ofAddressesOnly: true), equals: shown)
    }

    @Test(arguments: ["@", "＠", "﹫", "%40"], [":", "：", "﹕", "︓", "∶", "꞉"])
    func `shows no secret, however the address is spelled`(_ sign: String, _ colon: String) {
        for slashes in ["//", "／／", "⁄⁄", "∕∕", "⧸⧸"] {
            for ending in [
                "", "/", "/x?k=SECRET", "/？k=SECRET", "﹖SECRET", "/#SECRET", "/＃SECRET", "﹟SECRET",
            ] {
                let address = "https\(colon)\(slashes)me\(colon)SECRET\(sign)host\(ending)"
                for text in [address, "\"\(address)\" is none", "(\(address))"] {
                    let shown = withoutSecrets(text, mark: "…", ofAddressesOnly: true)
                    expect(!shown.contains("SECRET"), "\(text): \(shown)")
                    expect(shown.contains("…@host"), "\(text): \(shown)")
                }
            }
        }
    }

    @Test(arguments: [
        "https://h/％/ü", "https://h/%40scope/x", "文件：甲／乙", "＠me", "js/icon＠2x.png: no",
        "where？", "http://h:80/＠scope",
    ])
    func `stays as it is where there is none`(_ text: String) {
        expect(withoutSecrets(text, mark: "…", ofAddressesOnly: true), equals: text)
    }
}
