/// A base with the differences in place of its tables, without a copy of the rest.
struct BaseView {
    /// How much of the base is looked at together, at most.
    static let windowByteCount = 4096
    /// Before and after a window, a model looks at so many bytes more.
    static let margin = 32
    static let chunkByteCount = windowByteCount + 2 * margin

    private let base: UnsafeRawBufferPointer
    /// The starts of the tables, and their bytes.
    private let tables: [(start: Int, bytes: [UInt8])]
    private let chunk: Cells<UInt8>

    init(_ base: UnsafeRawBufferPointer, _ tables: [DeltaTable], _ memory: ModelMemory) {
        chunk = memory.take(Self.chunkByteCount)
        self.base = base
        self.tables = tables.lazy.filter { $0.base.entryCount > 0 }.map { table in
            let end = table.base.start + table.baseByteCount
            var bytes = [UInt8](base[table.base.start..<end])
            bytes.withUnsafeMutableBytes { table.takeDifferences(in: $0) }
            return (table.base.start, bytes)
        }
    }

    /// A byte; 0 outside.
    func byte(at place: Int) -> UInt32 {
        guard base.indices.contains(place) else { return 0 }
        for table in tables where table.start <= place && place < table.start + table.bytes.count {
            return UInt32(table.bytes[place - table.start])
        }
        return UInt32(base[place])
    }

    /// Copies from within the base, as many bytes as the target has.
    func copy(from place: Int, to target: UnsafeMutableRawBufferPointer) {
        if target.isEmpty { return }
        target.copyMemory(from: .init(rebasing: base[place..<place + target.count]))
        for table in tables {
            let start = max(place, table.start)
            let end = min(place + target.count, table.start + table.bytes.count)
            if start >= end { continue }
            table.bytes.withUnsafeBytes { bytes in
                let part = bytes[start - table.start..<end - table.start]
                UnsafeMutableRawBufferPointer(rebasing: target[(start - place)...])
                    .copyMemory(from: .init(rebasing: part))
            }
        }
    }

    /// Bytes from a place on, with ``margin`` before and after them; zeros outside of the base.
    ///
    /// Lives until the next one.
    /// - Parameter count: at most ``windowByteCount``.
    func window(at place: Int, count: Int) -> UnsafePointer<UInt8> {
        let start = place - Self.margin
        let end = place + count + Self.margin
        let isPlain = tables.allSatisfy { $0.start >= end || $0.start + $0.bytes.count <= start }
        if isPlain, start >= 0, end <= base.count, let address = base.baseAddress {
            return (address + place).assumingMemoryBound(to: UInt8.self)
        }
        chunk.start.update(repeating: 0, count: end - start)
        let inside = max(start, 0)..<min(end, base.count)
        if !inside.isEmpty {
            copy(
                from: inside.lowerBound,
                to: UnsafeMutableRawBufferPointer(
                    start: chunk.start + (inside.lowerBound - start), count: inside.count))
        }
        return UnsafePointer(chunk.start + Self.margin)
    }
}
