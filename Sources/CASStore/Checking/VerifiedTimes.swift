/// When a check last found each object sound: the memory that lets a scrub resume where it stopped.
///
/// Kept in the file `verified`, derived and never synced: without it objects are read again, and that
/// is all. Twelve bytes an object: the first eight of the address, and a time in seconds since 1970 of
/// which the lowest bit says that the SHA-256 was computed. If somebody makes two objects whose
/// addresses begin alike, both get the earlier time.
///
/// ```
/// "castree-verified 1\n"   padded with NUL to 32 bytes
/// address  8 bytes, time  4 bytes, little-endian, sorted by address; and so on
/// XXH3-128 of all that      16 bytes
/// ```
struct VerifiedTimes: Sendable {
    /// When one object was found sound.
    struct Entry: Sendable, Equatable {
        var prefix: UInt64
        var time: UInt32
    }

    /// Sorted by prefix.
    var entries: [Entry] = []

    static let heading: [UInt8] = {
        let text = Array("castree-verified 1\n".utf8)
        return text + [UInt8](repeating: 0, count: 32 - text.count)
    }()
    static let entryByteCount = 12
    static let sumByteCount = 16

    /// A time as it is stored.
    static func time(_ seconds: Int64, isDeep: Bool) -> UInt32 {
        UInt32(clamping: seconds) & ~1 | (isDeep ? 1 : 0)
    }

    /// When an object was last found sound; `nil` for never, or for never deeply if `isDeep`.
    func time(of address: ObjectID, isDeep: Bool) -> UInt32? {
        var place = entries.firstPosition { $0.prefix < address.w0 }
        var time: UInt32?
        while place < entries.count, entries[place].prefix == address.w0 {
            time = min(time ?? .max, entries[place].time)
            place += 1
        }
        guard let time, !isDeep || time & 1 == 1 else { return nil }
        return time
    }

    // MARK: The file

    init() {}

    /// Reads the file's bytes; `nil` if they are not whole.
    init?(_ bytes: [UInt8]) {
        let end = bytes.count - Self.sumByteCount
        guard end >= Self.heading.count, bytes.starts(with: Self.heading),
            (end - Self.heading.count) % Self.entryByteCount == 0
        else { return nil }
        let entries: [Entry]? = bytes.withUnsafeBytes { raw in
            let body = UnsafeRawBufferPointer(rebasing: raw[..<end])
            let sum = Fingerprint(bytes: UnsafeRawBufferPointer(rebasing: raw[end...]))
            guard Fingerprinter.fingerprint(body) == sum else { return nil }
            var entries: [Entry] = []
            entries.reserveCapacity((end - Self.heading.count) / Self.entryByteCount)
            for offset in stride(
                from: Self.heading.count, to: end, by: Self.entryByteCount)
            {
                entries.append(Entry(body, at: offset))
            }
            return entries
        }
        guard let entries else { return nil }
        self.entries = entries
    }

    /// The bytes of the file, with the times of parts of the address space in place of those before.
    /// - Parameter ranges: the parts, ascending.
    func encoded(replacing ranges: [FinishedRange]) -> [UInt8] {
        var bytes = Self.heading
        func append(_ entry: Entry) {
            withUnsafeBytes(of: entry.prefix.littleEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: entry.time.littleEndian) { bytes.append(contentsOf: $0) }
        }
        var rest = entries[...]
        for range in ranges {
            let (kept, replaced) = (
                rest.firstPosition { $0.prefix < range.bounds.lowerBound },
                rest.firstPosition { $0.prefix <= range.bounds.upperBound }
            )
            rest[..<kept].forEach(append)
            rest = rest[replaced...]
            for entry in range.times where entry.prefix <= range.bounds.upperBound { append(entry) }
        }
        rest.forEach(append)
        let sum = bytes.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        sum.withBytes { bytes.append(contentsOf: $0) }
        return bytes
    }
}

extension VerifiedTimes.Entry {
    /// Reads what stands at an offset of the file.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        prefix = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        time = UInt32(
            littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
    }
}

extension Store {
    /// What earlier checks remember; nothing if the file is not there or not whole.
    func verifiedTimes() -> VerifiedTimes {
        remembered(as: StoreLayout.verified, limit: 1 << 32).flatMap { VerifiedTimes($0) }
            ?? VerifiedTimes()
    }

    /// Remembers when the objects in parts of the address space were found sound, if it can: a store
    /// that cannot be written is checked all the same.
    ///
    /// - Parameters:
    ///   - ranges: the parts, ascending.
    ///   - areAll: they cover everything, so that nothing is left of what was remembered before.
    func keep(_ ranges: [FinishedRange], areAll: Bool) {
        let before = areAll ? VerifiedTimes() : verifiedTimes()
        remember(before.encoded(replacing: ranges), as: StoreLayout.verified)
    }

    /// The bytes of a small file by which nothing is decided; `nil` if it is not there, or cannot be read.
    package func remembered(as name: String, limit: Int) -> [UInt8]? {
        // A store that has lost what it remembers is like one that was never checked.
        try? fileSystem.contents(directories.root.raw, name, limit: limit)
    }

    /// Writes such a file, not durably, if it can.
    package func remember(_ bytes: [UInt8], as name: String) {
        // As above.
        guard let token = try? randomToken() else { return }
        // As above.
        try? fileSystem.replaceFile(
            directories.root.raw, name, with: bytes, token: token, durably: false)
    }
}
