internal import Delta
package import Platform

/// Makes frames of codec 3.
package enum DeltaMaking {
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
        do throws(StoreError) {
            let frame = try smallest(content, base, isInterrupted)
            guard frame.count <= limit else { return nil }
            try check(frame, content, base)
            return frame
        } catch {
            guard error.code == .tooLarge else { throw error }
            return nil
        }
    }

    private static func smallest(
        _ content: UnsafeRawBufferPointer, _ base: UnsafeRawBufferPointer,
        _ isInterrupted: () -> Bool
    ) throws(StoreError) -> [UInt8] {
        guard content.count <= DeltaLimits.contentByteCountMax else {
            throw StoreError(.tooLarge, "unable to make a delta to \(content.count) bytes")
        }
        let search = try AlignmentSearch(base: base)
        var smallest: [UInt8]?
        for costs in [AlignmentCosts.text, .bytecode] {
            let steps = try search.steps(to: content, costs: costs, isInterrupted: isInterrupted)
            let frame = try DeltaEncoder.encode(
                content, base: base, steps: steps, isInterrupted: isInterrupted)
            if frame.count < smallest?.count ?? .max { smallest = frame }
        }
        guard let smallest else { throw StoreError(.tooLarge, "unable to make a delta") }
        return smallest
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
        AlignmentSearch.memoryByteCount(baseByteCount: baseByteCount)
            + DeltaLimits.memoryByteCountMax + contentByteCount
    }
}
