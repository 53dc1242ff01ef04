import HotPush
import StorageTestSupport

@Suite("A label of Meteor's") struct MeteorLabelTests {
    // Digests of "hello".
    static let sha1 = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
    static let sha512 =
        "m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw=="

    @Test(
        "proves content by the rule of its release",
        arguments: [
            ("aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", MeteorLabel.Rule.content),
            ("dcdb73ecc9e49824d5bead62f849b7fe1c114b13", .secondSalt),
            ("9efe3b6e7c9c64f6ed9379c535c593ed3bde86c0", .firstSalt),
            ("c9d4d2937256f2860e84a444fbc0a19b32eec8df", .integrity),
            ("c9c85d910aa75228ba2733161e2340fd6054c870", .contentAndIntegrity),
        ])
    func proves(_ digits: String, _ rule: MeteorLabel.Rule) throws {
        let label = try require(MeteorLabel(digits))
        try expect(label.proof(sha1: Self.sha1, sha512: Self.sha512), equals: .proved(rule))
    }

    @Test func `proves nothing if the source before minification went into it`() throws {
        let label = try require(MeteorLabel("b4f37f21c12d7e5e04502a0d9bf6b397f4bc5fcd"))
        try expect(label.proof(sha1: Self.sha1, sha512: Self.sha512), equals: .unproved)
    }

    @Test(arguments: [
        "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", "dcdb73ecc9e49824d5bead62f849b7fe1c114b13",
        "9efe3b6e7c9c64f6ed9379c535c593ed3bde86c0", "c9d4d2937256f2860e84a444fbc0a19b32eec8df",
    ])
    func `proves nothing about other content`(_ digits: String) throws {
        let label = try require(MeteorLabel(digits))
        // SHA-1 of "hello2", and the digest of nothing.
        let sha1 = "0f1defd5135596709273b3a1a07e466ea2bf4fff"
        let sha512 =
            "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
        try expect(label.proof(sha1: sha1, sha512: sha512), equals: .unproved)
    }

    @Test func `needs no SHA-512 for the rules without it`() throws {
        let old = try require(MeteorLabel("dcdb73ecc9e49824d5bead62f849b7fe1c114b13"))
        try expect(old.proof(sha1: Self.sha1, sha512: nil), equals: .proved(.secondSalt))
        let new = try require(MeteorLabel("c9d4d2937256f2860e84a444fbc0a19b32eec8df"))
        try expect(new.proof(sha1: Self.sha1, sha512: nil), equals: .unproved)
    }

    @Test func `takes digests as labels, in any order`() throws {
        let label = try require(MeteorLabel("c9d4d2937256f2860e84a444fbc0a19b32eec8df"))
        let sha1 = try require(Label(.sha1, hex: Self.sha1))
        let sha512 = try require(
            Label(
                .sha512,
                hex: "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca7"
                    + "2323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"))
        try expect(label.proof([sha512, sha1]), equals: .proved(.integrity))
        try expect(label.proof([sha1]), equals: .unproved)
        try expect(label.proof([sha512]), equals: .unproved)
        try expect(label.proof([]), equals: .unproved)
    }

    @Test(arguments: [
        "", "aaf4c61d", "AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D",
        "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434g", "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434da",
    ])
    func `is 40 lower-case hexadecimal digits`(_ text: String) { expect(MeteorLabel(text) == nil) }
}
