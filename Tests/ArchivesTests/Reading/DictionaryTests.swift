import ArchiveReading
import Archives
import StorageTestSupport

/// How much memory a file of a zip archive may ask for.
@Suite("The dictionary of a compressed file") struct DictionaryTests {
    let reader = ReadArchive()

    /// "content" by LZMA, as Python's zipfile writes it.
    private static func lzma(_ dictionary: UInt32) -> ForeignZip.Entry {
        var entry = ForeignZip.Entry("rare")
        entry.method = 14
        entry.flags = 2
        entry.compressed =
            [9, 4, 5, 0, 0x5D] + ForeignZip.le(UInt64(dictionary), 4)
            + [
                0x00, 0x31, 0x9B, 0xCA, 0x19, 0xDA, 0xE9, 0xCA, 0xD7, 0x4C, 0xD1, 0x5F, 0xFF, 0xFD,
                0x98, 0x30, 0x00,
            ]
        return entry
    }

    /// "b" by XZ for each of the blocks, which name the dictionaries by LZMA2's property.
    private static func xz(_ dictionaries: [UInt8]) -> ForeignZip.Entry {
        func summed(_ bytes: [UInt8]) -> [UInt8] {
            bytes + ForeignZip.le(UInt64(CRC32(of: bytes).value), 4)
        }
        let (flags, check) = ([0, 1] as [UInt8], Array(summed([0x62]).dropFirst()))
        var stream = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0] + flags + summed(flags).dropFirst(2)
        var index = [0, UInt8(dictionaries.count)]
        for dictionary in dictionaries {
            // One chunk that is not compressed, the end, and zeros up to four bytes.
            stream += summed([2, 0, 0x21, 1, dictionary, 0, 0, 0]) + [1, 0, 0, 0x62, 0, 0, 0, 0]
            stream += check
            index += [21, 1]
        }
        index += [UInt8](repeating: 0, count: -index.count & 3)
        let size = ForeignZip.le(UInt64(index.count / 4), 4) + flags
        stream += summed(index) + summed(size).suffix(4) + size + [0x59, 0x5A]
        var entry = ForeignZip.Entry("rare", String(repeating: "b", count: dictionaries.count))
        (entry.method, entry.compressed) = (95, stream)
        return entry
    }

    @Test func `is taken as usual programs make it`() throws {
        // 64 MiB is what 7-Zip and xz take at most for files of that size.
        for entry in [Self.lzma(1 << 20), Self.lzma(64 << 20), Self.xz([16]), Self.xz([28, 16])] {
            let files = try reader.files(ForeignZip(entry).bytes(), "a.zip")
            expect(files, equals: ["rare": String(decoding: entry.content, as: UTF8.self)])
        }
    }

    @Test func `is refused if it takes far more memory than the archive has bytes`() throws {
        let large = [Self.lzma(1280 << 20), Self.lzma(.max), Self.xz([37]), Self.xz([16, 37])]
        for (position, entry) in (large + [Self.xz([16, 16, 40])]).enumerated() {
            let zip = ForeignZip(.init("good"), entry).bytes()
            let refused = try require(try reader.refusal(zip, "a.zip"), "\(position) is taken")
            expect(refused.code, equals: .tooLarge, "\(refused)")
            expect(refused.message.contains("\"rare\" in "), "\(refused)")
            expect(refused.message.contains("of memory"), "\(refused)")
        }
    }

    @Test func `is looked for no further than the bytes are sound`() throws {
        let sound = Self.xz([16, 16])
        let bytes = try require(sound.compressed)
        for position in bytes.indices {
            var (cut, changed) = (sound, sound)
            cut.compressed = Array(bytes[..<position])
            changed.compressed?[position] ^= 0xFF
            for entry in [cut, changed] {
                let refused = try reader.refusal(ForeignZip(entry).bytes(), "a.zip")
                let codes: [StoreError.Code] = [.badArchive, .tooLarge]
                expect(refused.map { codes.contains($0.code) } ?? false, "\(position)")
            }
        }
    }
}
