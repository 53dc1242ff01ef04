package import Delta
import DeltaSearch
package import Platform

/// The two containers of one kind of patch: bytes to add to those of the old file, bytes to insert, and moves.
package enum BsdiffFormat: String, Sendable, Hashable, CaseIterable {
    /// `BSDIFF40`: three bzip2 streams, one after the other.
    case bsdiff40
    /// `ENDSLEY/BSDIFF43`: one stream of steps, each followed by its bytes.
    case bsdiff43

    var magic: [UInt8] {
        switch self {
        case .bsdiff40: Array("BSDIFF40".utf8)
        case .bsdiff43: Array("ENDSLEY/BSDIFF43".utf8)
        }
    }
}

/// Makes binary patches and applies them.
package enum BsdiffPatch {
    /// Appliers count in 32 bits.
    static let byteCountMax = Int(Int32.max)
    /// The bytes of a step in its stream: three numbers of 8 bytes.
    static let stepByteCount = 24

    /// Why no patches can be made here, and what to install; `nil` if they can.
    package static var problem: String? {
        if let problem = Bzip2.problem { return problem }
        if AlignmentSearch.isAvailable { return nil }
        return
            "libdivsufsort, which finds what files have in common, is not installed; on Debian: apt install libdivsufsort3"
    }

    /// Writes steps as a patch.
    /// - Parameter steps: cover the new file; copies stay inside the old one.
    /// - Throws: `.badPatch` for other steps; `.unsupported` without libbz2; `.outOfMemory`; `.interrupted`.
    package static func write(
        _ format: BsdiffFormat, _ steps: [DeltaStep], from old: UnsafeRawBufferPointer,
        to new: UnsafeRawBufferPointer, isInterrupted: () -> Bool = { false }
    ) throws(StoreError) -> [UInt8] {
        var streams = Streams(format, new.count)
        var (oldPlace, newPlace) = (0, 0)
        for step in steps {
            let (copied, inserted) = (step.copyByteCount, step.literalByteCount)
            guard copied >= 0, inserted >= 0, copied <= old.count - oldPlace,
                copied <= new.count - newPlace, inserted <= new.count - newPlace - copied,
                0...old.count ~= oldPlace + copied + step.seek
            else { throw StoreError(.badPatch, "the steps of a patch leave its files") }
            streams.add(copied, inserted, step.seek)
            streams.add(
                old: UnsafeRawBufferPointer(rebasing: old[oldPlace..<oldPlace + copied]),
                new: UnsafeRawBufferPointer(rebasing: new[newPlace..<newPlace + copied]))
            newPlace += copied
            streams.insert(new[newPlace..<newPlace + inserted])
            newPlace += inserted
            oldPlace += copied + step.seek
        }
        guard newPlace == new.count, new.count <= byteCountMax, old.count <= byteCountMax else {
            throw StoreError(.badPatch, "the steps of a patch do not make the whole file")
        }
        return try streams.finish(isInterrupted)
    }

    /// The streams of a patch that is being written.
    private struct Streams {
        private let format: BsdiffFormat
        private let newByteCount: Int
        /// Of BSDIFF43, all of it.
        private var steps: [UInt8] = []
        private var differences: [UInt8] = []
        private var inserted: [UInt8] = []

        init(_ format: BsdiffFormat, _ newByteCount: Int) {
            self.format = format
            self.newByteCount = newByteCount
            if format == .bsdiff43 { steps.reserveCapacity(newByteCount) }
        }

        mutating func add(_ copied: Int, _ inserted: Int, _ seek: Int) {
            for number in [copied, inserted, seek] { steps += BsdiffNumber.bytes(of: number) }
        }

        mutating func add(old: UnsafeRawBufferPointer, new: UnsafeRawBufferPointer) {
            let bytes = [UInt8](unsafeUninitializedCapacity: new.count) { buffer, count in
                for place in 0..<new.count { buffer[place] = new[place] &- old[place] }
                count = new.count
            }
            if format == .bsdiff40 { differences += bytes } else { steps += bytes }
        }

        mutating func insert(_ bytes: Slice<UnsafeRawBufferPointer>) {
            if format == .bsdiff40 { inserted += bytes } else { steps += bytes }
        }

        func finish(_ isInterrupted: () -> Bool) throws(StoreError) -> [UInt8] {
            func packed(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] {
                try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                    try Bzip2.compress(bytes, isInterrupted: isInterrupted)
                }
            }
            let first = try packed(steps)
            guard format == .bsdiff40 else {
                return format.magic + BsdiffNumber.bytes(of: newByteCount) + first
            }
            let second = try packed(differences)
            return format.magic
                + [first.count, second.count, newByteCount].flatMap(BsdiffNumber.bytes)
                + first + second + (try packed(inserted))
        }
    }
}

/// Numbers of patches: 8 bytes, little endian, the sign in the highest bit.
enum BsdiffNumber {
    static let byteCount = 8

    static func bytes(of number: Int) -> [UInt8] {
        let bits = UInt64(number.magnitude) | (number < 0 ? 1 << 63 : 0)
        return (0..<byteCount).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
    }

    /// - Parameter bytes: 8 of them.
    static func number(of bytes: some Collection<UInt8>) -> Int {
        let bits = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let number = Int(bits & (1 << 63 - 1))
        return bits >> 63 == 1 ? -number : number
    }
}
