package import Platform

// What makes the new file of an old one and a patch, as devices do: each patch is tried before it gets a name.

extension BsdiffPatch {
    /// The bytes that a patch makes of an old file.
    ///
    /// Stricter than devices: it reads nothing outside the old file, which counts as zeros there.
    /// - Parameter limit: the most bytes that may come out.
    /// - Throws: `.badPatch` for a patch that breaks its format, or does not fit; `.unsupported` without libbz2;
    ///   `.outOfMemory`; `.interrupted`.
    package static func apply(
        _ patch: [UInt8], to old: UnsafeRawBufferPointer, limit: Int,
        isInterrupted: () -> Bool = { false }
    ) throws(StoreError) -> [UInt8] {
        try patch.span.bytes.withUnsafeBytes { (patch) throws(StoreError) in
            let parts = try Parts(patch, limit: limit)
            return try parts.apply(to: old, isInterrupted)
        }
    }

    /// The size of the file that a patch makes, as its head says; `nil` if it is no patch.
    package static func newByteCount(of patch: [UInt8]) -> Int? {
        for format in BsdiffFormat.allCases where patch.starts(with: format.magic) {
            let start = format == .bsdiff40 ? 24 : 16
            guard patch.count >= start + BsdiffNumber.byteCount else { return nil }
            return BsdiffNumber.number(of: patch[start..<start + BsdiffNumber.byteCount])
        }
        return nil
    }

    private struct Parts {
        private let newByteCount: Int
        private let steps: Bzip2Reader
        private let differences: Bzip2Reader
        private let inserted: Bzip2Reader

        init(_ patch: UnsafeRawBufferPointer, limit: Int) throws(StoreError) {
            let isNew = patch.starts(with: BsdiffFormat.bsdiff43.magic)
            guard isNew || patch.starts(with: BsdiffFormat.bsdiff40.magic),
                patch.count >= (isNew ? 24 : 32)
            else { throw StoreError(.badPatch, "it has no head of a patch") }
            func number(_ start: Int) -> Int {
                BsdiffNumber.number(of: patch[start..<start + BsdiffNumber.byteCount])
            }
            newByteCount = number(isNew ? 16 : 24)
            guard 0...min(limit, byteCountMax) ~= newByteCount else {
                throw StoreError(.badPatch, "a patch makes more than \(limit) bytes")
            }
            func part(_ range: Range<Int>) throws(StoreError) -> Bzip2Reader {
                try Bzip2Reader(UnsafeRawBufferPointer(rebasing: patch[range]))
            }
            if isNew {
                steps = try part(24..<patch.count)
                (differences, inserted) = (steps, steps)
                return
            }
            let (first, second) = (number(8), number(16))
            guard first >= 0, second >= 0, first <= patch.count - 32,
                second <= patch.count - 32 - first
            else { throw StoreError(.badPatch, "the streams of a patch leave it") }
            steps = try part(32..<32 + first)
            differences = try part(32 + first..<32 + first + second)
            inserted = try part(32 + first + second..<patch.count)
        }

        func apply(
            to old: UnsafeRawBufferPointer, _ isInterrupted: () -> Bool
        ) throws(StoreError) -> [UInt8] {
            var new = [UInt8](repeating: 0, count: newByteCount)
            var numbers = [UInt8](repeating: 0, count: stepByteCount)
            var (oldPlace, newPlace, stepCount) = (0, 0, 0)
            while newPlace < newByteCount {
                if isInterrupted() { throw Bzip2.interrupted }
                stepCount += 1
                // A stream of steps that make nothing may have any length.
                guard stepCount <= 2 * newByteCount + 2 else {
                    throw StoreError(.badPatch, "a patch has too many steps")
                }
                try Self.read(steps, &numbers, 0..<stepByteCount)
                let step = (0..<3).map { BsdiffNumber.number(of: numbers[8 * $0..<8 * $0 + 8]) }
                let (copied, literals, seek) = (step[0], step[1], step[2])
                guard 0...newByteCount - newPlace ~= copied,
                    0...newByteCount - newPlace - copied ~= literals,
                    copied == 0 || 0...old.count ~= oldPlace && copied <= old.count - oldPlace,
                    seek.magnitude <= UInt(byteCountMax),
                    oldPlace.magnitude <= UInt(byteCountMax)
                else { throw StoreError(.badPatch, "a step of a patch leaves its files") }
                try Self.read(differences, &new, newPlace..<newPlace + copied)
                for place in 0..<copied { new[newPlace + place] &+= old[oldPlace + place] }
                newPlace += copied
                try Self.read(inserted, &new, newPlace..<newPlace + literals)
                newPlace += literals
                oldPlace += copied + seek
            }
            return new
        }

        private static func read(
            _ stream: Bzip2Reader, _ bytes: inout [UInt8], _ range: Range<Int>
        ) throws(StoreError) {
            guard !range.isEmpty else { return }
            var span = bytes.mutableSpan
            try span.withUnsafeMutableBytes { (bytes) throws(StoreError) in
                try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }
}
