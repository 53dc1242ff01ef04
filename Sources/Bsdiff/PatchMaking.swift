import Delta
import DeltaSearch
package import Platform

/// Makes patches from one old file to new ones.
package final class PatchMaking {
    private let old: UnsafeRawBufferPointer
    private let search: AlignmentSearch
    private let isInterrupted: @Sendable () -> Bool

    /// What a copy, a correction and a move are taken to cost; which of them fits, only the result shows.
    private static let costs: [AlignmentCosts] = [.text, .bytecode, .streams, .likeness]

    /// Sorts the old file, which is not copied: it must outlive this.
    /// - Throws: `.unsupported` without libdivsufsort; `.outOfMemory`; `.tooLarge`.
    package init(
        from old: UnsafeRawBufferPointer, _ isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) {
        self.old = old
        self.isInterrupted = isInterrupted
        search = try AlignmentSearch(base: old)
    }

    /// The smallest patch of each format, each applied and compared with the new file.
    /// - Parameter limit: the largest useful patch, in bytes: once one is far larger, no better is looked for.
    /// - Throws: `.badPatch` if one does not make the file; `.unsupported`, `.outOfMemory`, `.tooLarge`, `.interrupted`.
    package func patches(
        to new: UnsafeRawBufferPointer, _ formats: Set<BsdiffFormat>, limit: Int = .max
    ) throws(StoreError) -> [BsdiffFormat: [UInt8]] {
        var best: [BsdiffFormat: [UInt8]] = [:]
        // No estimate of costs makes a patch a third smaller than another does.
        for costs in Self.costs where best.values.allSatisfy({ $0.count / 3 <= limit / 2 }) {
            let steps = try search.steps(to: new, costs: costs, isInterrupted: isInterrupted)
            for format in formats {
                let patch = try BsdiffPatch.write(
                    format, steps, from: old, to: new, isInterrupted: isInterrupted)
                if best[format].map({ patch.count < $0.count }) ?? true { best[format] = patch }
            }
        }
        for patch in best.values {
            let made = try BsdiffPatch.apply(
                patch, to: old, limit: new.count, isInterrupted: isInterrupted)
            guard made.elementsEqual(new) else {
                throw StoreError(.badPatch, "a patch made does not give the file")
            }
        }
        return best
    }
}
