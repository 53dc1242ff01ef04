import Expectations
import Platform

@Suite("Base64") struct Base64Tests {
    // RFC 4648, section 10.
    static let vectors = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: vectors)
    func `is written and read as the RFC's vectors say`(_ bytes: String, _ text: String) {
        expect(Base64.string(Array(bytes.utf8)), equals: text)
        expect(Base64.bytes(text), equals: Array(bytes.utf8))
    }

    @Test func `holds all bytes`() {
        let bytes = (0...255).map { UInt8($0) }
        for count in 0...256 {
            let part = Array(bytes.prefix(count))
            expect(Base64.bytes(Base64.string(part)), equals: part)
        }
    }

    @Test(
        "has one spelling for each sequence of bytes",
        arguments: [
            "Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "=Zg=", "Z===", "====", "Zg==Zg==", "Zm9v\n",
            "Zm9-", "Zm9_", " Zg=", "Zg=\u{3d}=", "Z=g=",
        ])
    func refused(_ text: String) { expect(Base64.bytes(text) == nil) }
}
