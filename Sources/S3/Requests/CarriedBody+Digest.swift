import Platform
import Storage

extension CarriedBody {
    private static let bufferByteCount = 262_144

    /// The SHA-256 of the sent bytes, in hexadecimal digits.
    func digest(_ fileSystem: any FileSystem) throws(StoreError) -> String {
        var digester = try Digester(.sha256)
        try forEachPart(fileSystem) { digester.update($0) }
        return digester.finish { Hex.string($0) }
    }

    func forEachPart(
        _ fileSystem: any FileSystem, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(StoreError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.bufferByteCount, alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(Int64(buffer.count), range.upperBound - offset))
            let got = try body.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset,
                fileSystem)
            take(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
            offset += Int64(got)
        }
    }
}
