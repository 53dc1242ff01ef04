package func body(_ text: String) throws -> StorageBody { try StorageBody(Array(text.utf8)) }

extension ObjectStorage {
    @discardableResult
    package func write(_ key: String, _ text: String) throws -> EntityTag {
        guard case .stored(let tag?) = try put(key, body(text), .object) else {
            throw StoreError(.outcomeUnknown, "not stored: \(key)")
        }
        return tag
    }

    /// The text of a file; nil if there is none.
    package func text(_ key: String) throws -> String? {
        let read = try bytes(key, ReadRequest(byteCountMax: 1 << 20))
        guard case .found = read.outcome else { return nil }
        return String(decoding: read.bytes, as: UTF8.self)
    }

    /// All keys below a prefix, by pages of so many.
    package func keys(_ prefix: String = "", after: String? = nil, by count: Int = 1_000) throws
        -> [String]
    {
        var keys: [String] = []
        try listAll(prefix, startAfter: after, countMax: count) { (page) throws(StoreError) in
            keys += page.files.map(\.key)
            return true
        }
        return keys
    }
}

extension SeededRandom {
    /// The same bytes in each run.
    package static func content(_ count: Int, seed: UInt64 = 17) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return random.bytes(count)
    }
}

extension TemporaryDirectory {
    package func file(_ content: [UInt8], _ name: String = "file") throws -> Descriptor {
        let files = POSIXFileSystem()
        let file = try files.open(
            POSIXFileSystem.workingDirectory, appending(name), .updating, mode: 0o600)
        try files.write(file.raw, content)
        return file
    }
}
