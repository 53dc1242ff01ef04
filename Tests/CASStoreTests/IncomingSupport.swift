import StorageTestSupport

// What the tests of arriving content share.

/// Brings content in pieces, from where an earlier attempt has stopped.
func bring(
    _ content: [UInt8], _ incoming: IncomingContents, named name: ObjectID? = nil,
    piece: Int = 70_000,
    isSizeKnown: Bool = true, labels: [Label] = [], digests: Set<DigestAlgorithm> = []
) throws -> IncomingObject {
    var item = try incoming.begin(
        name ?? address(of: content), byteCount: isSizeKnown ? Int64(content.count) : nil,
        isPlaceholder: name != nil, labels: labels, digests: digests)
    var rest = content.dropFirst(Int(item.offset))
    while !rest.isEmpty {
        try item.append(Array(rest.prefix(piece)).span.bytes)
        rest = rest.dropFirst(piece)
    }
    return try item.finish()
}

/// Registers a version that waits for contents.
func wait(
    for contents: [[UInt8]], in temporary: TemporaryStore, version: String = "waiting"
) throws {
    let entries = try contents.enumerated().map { position, content in
        Manifest.Entry(
            path: try TreePath("f\(position)"), address: try address(of: content),
            byteCount: Int64(content.count))
    }
    try temporary.versions.register(
        Manifest(version: VersionName(version), ordinal: 1, createdAt: 1, entries: entries))
}
