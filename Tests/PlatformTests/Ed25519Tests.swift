import StorageTestSupport

@testable import Platform

@Suite("Ed25519") struct Ed25519Tests {
    struct Vector {
        let seed, key, message, signature: String
    }

    // RFC 8032, section 7.1: TEST 1, 2, 3 and SHA(abc).
    static let vectors = [
        Vector(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
                + "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
        Vector(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            message: "72",
            signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
        Vector(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            key: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            message: "af82",
            signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
        Vector(
            seed: "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            key: "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            message: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            signature: "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
                + "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"),
    ]

    private func bytes(_ hex: String) throws -> [UInt8] { try require(Hex.bytes(hex)) }

    @Test("signs and verifies as the RFC's vectors say, and refuses one flipped bit anywhere")
    func vectors() throws {
        for vector in Self.vectors {
            let key = try bytes(vector.seed).withUnsafeBytes { try SigningKey(seed: $0) }
            let (message, signature) = (try bytes(vector.message), try bytes(vector.signature))
            let verifier = key.verificationKey
            let wanted = try VerificationKey(raw: bytes(vector.key))
            var refusedCount = 0
            for bit in 0..<512 {
                var wrong = signature
                wrong[bit / 8] ^= 1 << UInt8(bit % 8)
                refusedCount += verifier.verifies(wrong, of: message) ? 0 : 1
            }
            let isRight =
                try key.sign(message) == signature && verifier == wanted
                && verifier.verifies(signature, of: message)
                && !verifier.verifies(signature, of: message + [0])
                && !verifier.verifies(Array(signature.dropLast()), of: message)
                && !verifier.verifies(signature + [0], of: message)
            expect(isRight && refusedCount == 512, "\(vector.key)")
        }
    }

    /// RFC 8032, section 5.1.7: S must be below the order, or everybody could make a second signature of each.
    @Test func `refuses a signature whose S is not reduced`() throws {
        let order = try bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        for vector in Self.vectors {
            var signature = try bytes(vector.signature)
            var carry = 0
            for index in 0..<32 {
                let sum = Int(signature[32 + index]) + Int(order[index]) + carry
                signature[32 + index] = UInt8(sum & 0xff)
                carry = sum >> 8
            }
            let key = try VerificationKey(raw: bytes(vector.key))
            let message = try bytes(vector.message)
            expect(carry == 0 && !key.verifies(signature, of: message))
        }
    }

    @Test(
        "knows the points of small order, by which anybody can sign, and takes no key that is one")
    func smallOrder() throws {
        // With the neutral element as the key, R is S times the base point, whatever the message: S = 0, R = (0, 1).
        let neutral: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        let forged = neutral + [UInt8](repeating: 0, count: 32)
        expect(Ed25519.verifies(forged, of: Array("anything".utf8), by: neutral))
        let last = [UInt8](repeating: 0xff, count: 30)
        var spellings: [[UInt8]] = [
            neutral, [UInt8](repeating: 0, count: 32),
            try bytes("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
            try bytes("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        ]
        for low: UInt8 in [0xec, 0xed, 0xee] { spellings.append([low] + last + [0x7f]) }
        for spelling in spellings {
            for sign: UInt8 in [0, 0x80] {
                var key = spelling
                key[31] |= sign
                expectRefusal(.badKey, "\(Hex.string(key))") { try VerificationKey(raw: key) }
            }
        }
    }
}
