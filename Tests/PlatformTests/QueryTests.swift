import Expectations
import Testing

@testable import Platform

@Suite("A message about an address") struct QueryTests {
    @Test(
        "shows no value of a query",
        arguments: [
            ("https://h/x?X-Amz-Signature=abc&b=c", "https://h/x?X-Amz-Signature=*&b=*"),
            ("no answer from 'https://h/x?t=abc'; wait", "no answer from 'https://h/x?t=*'; wait"),
            ("(to https://h/x?abc#d)", "(to https://h/x?*)"), ("//h?a=b: no", "//h?a=*: no"),
            // What is no address.
            ("is it http, not https?", "is it http, not https?"), ("a?b.txt", "a?b.txt"),
            ("https://h/x?", "https://h/x?"), ("", ""),
        ])
    func values(_ text: String, _ shown: String) {
        expect(withoutQueries(text, ofAddressesOnly: true), equals: shown)
    }
}
