import HotPush
import StorageTestSupport

func label(_ algorithm: DigestAlgorithm, _ content: String) throws -> Label {
    var digester = try Digester(algorithm)
    var text = content
    text.withUTF8 { digester.update(UnsafeRawBufferPointer($0)) }
    return try require(Label(algorithm, bytes: digester.finish { Array($0) }))
}

func labelled(
    _ path: String, address content: String? = nil, _ labels: Label...
) throws -> ReleaseFile {
    var file = ReleaseFile(path: try TreePath(path))
    file.address = try content.map { try address(of: $0) }
    file.checks = labels.map { .digest($0) }
    return file
}
