internal import Delta
package import Platform

/// Makes frames of codec 3.
package enum DeltaMaking {
    /// Raised whenever the same contents may give other frames, so that nobody keeps those of before.
    package static let version = 1
    /// Whether frames can be made on this machine: whether libdivsufsort can be loaded.
    package static var isAvailable: Bool { AlignmentSearch.isAvailable }

    /// Makes the smallest frame that this can, and decodes it again before it returns it.
    /// - Parameters:
    ///   - limit: the largest useful frame, in bytes.
    ///   - isInterrupted: is asked every few milliseconds, except while the base is sorted.
    /// - Returns: the frame; `nil` if it would have more than `limit` bytes, or exceed ``DeltaLimits``.
    /// - Throws: `.unsupported` without libdivsufsort; `.outOfMemory`; `.interrupted`.
    package static func frame(
        of content: UnsafeRawBufferPointer, from base: UnsafeRawBufferPointer, limit: Int,
        isInterrupted: () -> Bool
    ) throws(StoreError) -> [UInt8]? {
        guard content.count <= DeltaLimits.contentByteCountMax,
            base.count <= DeltaLimits.baseByteCountMax
        else { return nil }
        var making = Making(content: content, base: base, limit: limit)
        if HermesTables.isHermes(content) {
            try making.add([.bytecode], tables: [], isInterrupted)
            let tables = HermesTables.common(content, base)
            if !tables.isEmpty { try making.add([.bytecode], tables: tables, isInterrupted) }
        } else {
            try making.add([.text, .bytecode], tables: [], isInterrupted)
        }
        guard let frame = making.smallest else { return nil }
        try check(frame, content, base)
        return frame
    }

    /// The same for contents in arrays.
    package static func frame(
        of content: [UInt8], from base: [UInt8], limit: Int, isInterrupted: () -> Bool
    ) throws(StoreError) -> [UInt8]? {
        try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
            try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                try frame(of: content, from: base, limit: limit, isInterrupted: isInterrupted)
            }
        }
    }

    private static func check(
        _ frame: [UInt8], _ content: UnsafeRawBufferPointer, _ base: UnsafeRawBufferPointer
    ) throws(StoreError) {
        let decoded = UnsafeMutableRawBufferPointer.allocate(
            byteCount: content.count, alignment: 16)
        defer { decoded.deallocate() }
        try frame.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
            try DeltaDecoder.decode(frame, base: base, into: decoded)
        }
        guard decoded.elementsEqual(content) else {
            throw StoreError(.mismatch, "a delta does not give the content that it was made of")
        }
    }

    /// The memory that ``frame(of:from:limit:isInterrupted:)`` takes besides content and base, in bytes, at most.
    package static func memoryByteCount(contentByteCount: Int, baseByteCount: Int) -> Int {
        let frameByteCount = min(contentByteCount, DeltaLimits.modelledByteCountMax)
        return AlignmentSearch.memoryByteCount(
            contentByteCount: contentByteCount, baseByteCount: baseByteCount)
            // With differences in place of tables; what is decoded again; the encoder's runs.
            + baseByteCount + contentByteCount + contentByteCount + contentByteCount / 4
            // The smallest frame and another one that grows by doubling.
            + 3 * frameByteCount + DeltaLimits.memoryByteCountMax
    }
}

/// The smallest frame of those that were made.
private struct Making {
    let content: UnsafeRawBufferPointer
    let base: UnsafeRawBufferPointer
    let limit: Int
    private(set) var smallest: [UInt8]?

    init(content: UnsafeRawBufferPointer, base: UnsafeRawBufferPointer, limit: Int) {
        self.content = content
        self.base = base
        self.limit = limit
    }

    /// Makes a frame by each estimate of costs.
    mutating func add(
        _ costs: [AlignmentCosts], tables: [DeltaTable], _ isInterrupted: () -> Bool
    ) throws(StoreError) {
        if tables.isEmpty { return try add(costs, content, base, [], isInterrupted) }
        let newBytes = tables.transformed(content, \.content)
        let oldBytes = tables.transformed(base, \.base)
        try newBytes.span.bytes.withUnsafeBytes { (new) throws(StoreError) in
            try oldBytes.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
                try add(costs, new, old, tables, isInterrupted)
            }
        }
    }

    private mutating func add(
        _ costs: [AlignmentCosts], _ content: UnsafeRawBufferPointer,
        _ base: UnsafeRawBufferPointer, _ tables: [DeltaTable], _ isInterrupted: () -> Bool
    ) throws(StoreError) {
        let search = try AlignmentSearch(base: base)
        for costs in costs {
            do throws(StoreError) {
                let steps = try search.steps(
                    to: content, costs: costs, isInterrupted: isInterrupted)
                smallest = try DeltaEncoder.encode(
                    content, base: base, steps: steps, tables: tables,
                    limit: min(limit, smallest.map { $0.count - 1 } ?? .max),
                    isInterrupted: isInterrupted)
            } catch {
                // Larger than is useful, or than a client would take.
                guard error.code == .tooLarge else { throw error }
            }
        }
    }
}
