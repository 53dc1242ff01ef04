// Writing what checks remember, piece by piece: it may not fit in memory.

extension Store {
    /// Remembers when the objects in parts of the address space were found sound, if it can: a store
    /// that cannot be written is checked all the same.
    ///
    /// - Parameters:
    ///   - ranges: the parts, ascending.
    ///   - areAll: they cover everything, so that nothing is left of what was remembered before.
    func keep(_ ranges: [FinishedRange], areAll: Bool) {
        // Without the memory objects are read again, and nothing else is lost.
        guard let token = try? randomToken() else { return }
        // A file that is absent or not whole remembers nothing.
        let before = areAll ? nil : try? KeptTimes(self)
        // As above.
        try? fileSystem.replaceFile(
            directories.root.raw, StoreLayout.verified, token: token, durably: false
        ) { (file) throws(StoreError) in
            var writer = try TimesWriter(fileSystem, file)
            for range in ranges {
                let bounds = range.bounds
                while let entry = try before?.next(where: { $0 < bounds.lowerBound }) {
                    try writer.append(entry)
                }
                while try before?.next(where: { $0 <= bounds.upperBound }) != nil {}
                for entry in range.times where entry.prefix <= bounds.upperBound {
                    try writer.append(entry)
                }
            }
            while let entry = try before?.next(where: { _ in true }) { try writer.append(entry) }
            try writer.finish()
        }
    }
}

/// Writes the file of ``VerifiedTimes``.
private struct TimesWriter: ~Copyable {
    private let fileSystem: any FileSystem
    private let file: Int32
    private var bytes = VerifiedTimes.heading
    private var fingerprinter: Fingerprinter

    private static let pieceByteCount = 1 << 18

    init(_ fileSystem: any FileSystem, _ file: Int32) throws(StoreError) {
        let fingerprinter = try Fingerprinter()
        self.fileSystem = fileSystem
        self.file = file
        self.fingerprinter = fingerprinter
    }

    mutating func append(_ entry: VerifiedTimes.Entry) throws(StoreError) {
        if bytes.count >= Self.pieceByteCount {
            count()
            try fileSystem.write(file, bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        withUnsafeBytes(of: entry.prefix.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: entry.time.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func finish() throws(StoreError) {
        count()
        fingerprinter.finish().withBytes { bytes.append(contentsOf: $0) }
        try fileSystem.write(file, bytes)
    }

    private mutating func count() {
        bytes.withUnsafeBytes { fingerprinter.update($0) }
    }
}

/// Reads the file of ``VerifiedTimes`` from its beginning to its end.
private final class KeptTimes {
    private let fileSystem: any FileSystem
    private let file: RegularFile
    private let end: Int64
    private var offset = Int64(VerifiedTimes.heading.count)
    private var piece: [UInt8] = []
    private var position = 0

    private static let pieceByteCount = 12 << 14

    /// - Throws: if there is none, or it is not whole.
    init(_ store: Store) throws(StoreError) {
        fileSystem = store.fileSystem
        file = try store.fileSystem.openRegular(
            store.directories.root.raw, StoreLayout.verified, limit: 1 << 40)
        end = Int64(file.byteCount - VerifiedTimes.sumByteCount)
        guard end >= offset, (end - offset) % Int64(VerifiedTimes.entryByteCount) == 0,
            try isWhole()
        else { throw StoreError(.io, "the memory of checks is not whole") }
    }

    private func isWhole() throws(StoreError) -> Bool {
        var fingerprinter = try Fingerprinter()
        var place: Int64 = 0
        while place < end {
            let count = Int(min(end - place, Int64(Self.pieceByteCount)))
            let bytes = try fileSystem.read(file.descriptor.raw, at: place, count: count)
            guard bytes.count == count, place > 0 || bytes.starts(with: VerifiedTimes.heading)
            else { return false }
            bytes.withUnsafeBytes { fingerprinter.update($0) }
            place += Int64(count)
        }
        let sum = try fileSystem.read(
            file.descriptor.raw, at: end, count: VerifiedTimes.sumByteCount)
        return sum.withUnsafeBytes { Fingerprint(bytes: $0) } == fingerprinter.finish()
    }

    /// The next entry, if its address begins with a wanted number.
    func next(where isWanted: (UInt64) -> Bool) throws(StoreError) -> VerifiedTimes.Entry? {
        if position == piece.count {
            guard offset < end else { return nil }
            let count = Int(min(end - offset, Int64(Self.pieceByteCount)))
            piece = try fileSystem.read(file.descriptor.raw, at: offset, count: count)
            guard piece.count == count else {
                throw StoreError(.io, "the memory of checks was cut short")
            }
            offset += Int64(count)
            position = 0
        }
        let entry = piece.withUnsafeBytes { VerifiedTimes.Entry($0, at: position) }
        guard isWanted(entry.prefix) else { return nil }
        position += VerifiedTimes.entryByteCount
        return entry
    }
}
