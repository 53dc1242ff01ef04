/// SHA-256 of bytes.
package func address(of bytes: [UInt8]) throws(StoreError) -> ObjectID {
    var hasher = try ObjectHasher()
    return bytes.withUnsafeBytes { hasher.hash($0).address }
}

package func address(of text: String) throws(StoreError) -> ObjectID {
    try address(of: Array(text.utf8))
}

/// A manifest of made-up or real content: path to text.
package func makeManifest(
    _ version: String = "1", _ files: [String: String], ordinal: Int64 = 1, createdAt: Int64 = 1
) throws -> Manifest {
    try Manifest(
        version: VersionName(version), ordinal: ordinal, createdAt: createdAt,
        entries: files.map { path, text in
            Manifest.Entry(
                path: try TreePath(path), address: try address(of: text),
                byteCount: Int64(text.utf8.count))
        })
}
