import Expectations
import Testing

@testable import Console

@Suite("A message about a URL") struct PasswordTests {
    @Test(
        "shows no user and no password",
        arguments: [
            ("\"ftp://me:secret@host/x\" is none", "\"ftp://…@host/x\" is none"),
            ("'http://me:se@cret@host'", "'http://…@host'"),
            (
                "/api=https://token@host:80/a@b, http://u:p@h",
                "/api=https://…@host:80/a@b, http://…@h"
            ),
            ("http://host/a@b?c@d", "http://host/a@b?c@d"), ("me@host: no", "me@host: no"),
            ("a://", "a://"), ("", ""),
        ])
    func passwords(_ text: String, _ shown: String) {
        expect(withoutPasswords(text), equals: shown)
    }
}
