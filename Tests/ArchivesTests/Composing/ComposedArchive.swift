import Archives
import Expectations
import Platform

/// A composed archive with what its pieces name.
struct ComposedArchive {
    let archive: ZipArchive
    private var contents: [ObjectID: [UInt8]] = [:]

    /// Composes files: path to content; `#!` makes one executable, a content that shrinks is deflated.
    init(_ files: [String: [UInt8]]) throws {
        let deflater = try Deflater()
        var members: [ZipMember] = []
        for (path, content) in files {
            let stream = try DeflateTests.deflate(content, deflater)
            let isDeflated = stream.count < content.count
            let kept = isDeflated ? stream : content
            let address = try require(ObjectID(bytes: Digester.digest(.sha256, of: kept)))
            contents[address] = kept
            members.append(
                ZipMember(
                    path: path, isExecutable: content.starts(with: Array("#!".utf8)),
                    byteCount: Int64(content.count), crc32: CRC32(of: content).value,
                    content: isDeflated
                        ? .deflatedCopy(address, byteCount: Int64(stream.count)) : .object(address))
            )
        }
        archive = try ZipArchive(members)
    }

    init(_ members: [ZipMember], contents: [ObjectID: [UInt8]]) throws {
        archive = try ZipArchive(members)
        self.contents = contents
    }

    /// The bytes of a range, as a server would send them.
    func bytes(_ range: Range<Int64>) throws -> [UInt8] {
        var result: [UInt8] = []
        for piece in archive.pieces(in: range) {
            switch piece {
            case .bytes(let bytes):
                expect(!bytes.isEmpty)
                result += bytes
            case .object(let address, let part, let size),
                .deflatedCopy(let address, let part, let size):
                let content = try require(contents[address])
                expect(size == content.count && !part.isEmpty)
                result += content[Int(part.lowerBound)..<Int(part.upperBound)]
            }
        }
        return result
    }

    func bytes() throws -> [UInt8] { try bytes(0..<archive.byteCount) }

    /// Writes the whole archive into a file.
    func write(to path: String) throws { try Data(bytes()).write(to: URL(filePath: path)) }
}
