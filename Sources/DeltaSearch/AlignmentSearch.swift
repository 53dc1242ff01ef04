internal import CLibraries
package import Delta
package import Platform

/// Finds how content is best made from a base: steps with the least estimated cost.
///
/// The same bytes give the same steps, on every machine. Any thread may search.
package final class AlignmentSearch: Sendable {
    /// Whether libdivsufsort can be loaded.
    package static var isAvailable: Bool { castree_load_divsufsort() == nil }

    private nonisolated(unsafe) let base: UnsafeRawBufferPointer
    private let suffixes: SuffixArray

    /// Sorts the base, which takes some 0.1 s for each MB and cannot be interrupted.
    /// - Parameter base: must live as long as the search.
    /// - Throws: `.unsupported` without libdivsufsort; `.tooLarge` above ``DeltaLimits``; `.outOfMemory`.
    package init(base: UnsafeRawBufferPointer) throws(StoreError) {
        if let problem = castree_load_divsufsort() {
            throw StoreError(
                .unsupported,
                "libdivsufsort, which makes deltas, is not installed (\(String(cString: problem))); "
                    + "on Debian: apt install libdivsufsort3")
        }
        guard base.count <= DeltaLimits.baseByteCountMax else {
            throw StoreError(.tooLarge, "unable to make a delta from \(base.count) bytes")
        }
        self.base = base
        suffixes = try SuffixArray(base)
    }

    /// Finds the steps from the base to content.
    /// - Parameter isInterrupted: is asked every few milliseconds.
    /// - Throws: `.interrupted`; `.tooLarge` if there are more than ``DeltaLimits/stepCountMax``.
    package func steps(
        to content: UnsafeRawBufferPointer, costs: AlignmentCosts, isInterrupted: () -> Bool
    ) throws(StoreError) -> [DeltaStep] {
        if content.isEmpty { return [] }
        guard let old = base.baseAddress, let new = content.baseAddress else {
            return [DeltaStep(copyByteCount: 0, literalByteCount: content.count, seek: 0)]
        }
        var beam = Beam(
            suffixes, old.assumingMemoryBound(to: UInt8.self), base.count,
            new.assumingMemoryBound(to: UInt8.self), content.count, costs)
        return try beam.search(isInterrupted)
    }

    /// The memory that a search takes besides base and content, in bytes, at most.
    package static func memoryByteCount(contentByteCount: Int, baseByteCount: Int) -> Int {
        SuffixArray.byteCount(baseByteCount: baseByteCount)
            + min(Beam.nodeByteCount, 256 * contentByteCount)
            // The array of steps grows by doubling.
            + 2 * MemoryLayout<DeltaStep>.stride * min(DeltaLimits.stepCountMax, contentByteCount)
    }
}
