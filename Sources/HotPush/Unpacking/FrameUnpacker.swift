import CASStore
import VersionTree
import Zstandard

/// Who takes the objects that come out of a pack.
protocol PackIntake: AnyObject {
    /// Begins an object; `nil` if it is not wanted.
    func begin(_ object: Reference) throws(StoreError) -> Arrival?

    /// Takes an object whose bytes have all come.
    /// - Returns: whether they are the object's; else they are deleted.
    func finish(_ object: Reference, _ arrival: consuming Arrival) throws(StoreError) -> Bool
}

/// Turns the frames of a pack into objects.
///
/// Takes as much memory as ``Delivery/Pack/memoryByteCountMax`` says, whatever a frame contains: what is larger
/// is mapped. Belongs to one thread.
final class FrameUnpacker {
    private let table: PackTable
    private let objects: NumberedObjects
    private let baseObjects: NumberedObjects?
    private let arrivals: Arrivals
    private let store: Store
    private let intake: any PackIntake
    private let decoder: ZstdDecoder
    /// Room for the content of small frames, kept for the next one.
    private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// Content up to this size is decoded on the heap.
    private static let heapByteCountMax = 4 << 20
    /// A single base up to this size is read, a larger one mapped.
    private static let readByteCountMax: Int64 = 1 << 20

    /// - Throws: `.outOfMemory`.
    init(
        _ opening: PackOpening, into arrivals: Arrivals, of store: Store,
        for intake: any PackIntake
    ) throws(StoreError) {
        table = opening.table
        objects = opening.objects
        baseObjects = opening.baseObjects
        self.arrivals = arrivals
        self.store = store
        self.intake = intake
        decoder = try ZstdDecoder()
    }

    deinit { room.deallocate() }

    /// The objects of a frame.
    func objects(of frame: Int) -> [Reference] {
        table.frames[frame].objects.map { objects.references[Int($0)] }
    }

    /// Decodes a frame and hands out its objects.
    ///
    /// - Parameter bytes: all bytes of the frame.
    /// - Returns: the objects that came out wrong.
    /// - Throws: `.badPack`, `.badFrame` if it cannot be decoded; what the intake throws.
    func unpack(_ bytes: UnsafeRawBufferPointer, frame: Int) throws(StoreError) -> [Reference] {
        var outlet = ObjectOutlet(objects(of: frame), intake)
        let frame = table.frames[frame]
        let byteCount = Int(frame.contentByteCount)
        switch frame.codec {
        case .stored: try outlet.take(bytes)
        case .compressed where byteCount > Self.heapByteCountMax:
            var feeding = consume outlet
            try decoder.decode(
                bytes, byteCount: frame.contentByteCount,
                windowByteCountMax: PackLimits.windowByteCountMax, buffer: room(for: 128 << 10)
            ) { (piece) throws(StoreError) in try feeding.take(piece) }
            outlet = feeding
        case .compressed, .prefixed:
            let prefix = try prefix(of: frame)
            if byteCount > Self.heapByteCountMax {
                let target = try arrivals.makeScratch(byteCount: byteCount)
                try decoder.decode(bytes, prefix: prefix.bytes, into: target.writable)
                try outlet.take(target.bytes)
            } else {
                let target = room(for: byteCount)
                try decoder.decode(bytes, prefix: prefix.bytes, into: target)
                try outlet.take(UnsafeRawBufferPointer(target))
            }
            withExtendedLifetime(prefix) {}
        }
        return try outlet.finish()
    }

    /// Returns room for so many bytes, which are whatever was there before.
    private func room(for byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if room.count < byteCount {
            room.deallocate()
            room = .allocate(byteCount: byteCount, alignment: 16)
        }
        return UnsafeMutableRawBufferPointer(rebasing: room[..<byteCount])
    }

    // MARK: Bases

    /// The bases of a frame, one after the other.
    private func prefix(of frame: PackTable.Frame) throws(StoreError) -> FramePrefix {
        guard let baseObjects, !frame.bases.isEmpty else { return FramePrefix(byteCount: 0) }
        let bases = frame.bases.map { baseObjects.references[Int($0)] }
        if bases.count == 1, bases[0].byteCount > Self.readByteCountMax {
            let base = try open(bases[0])
            return FramePrefix(
                mapped: try store.fileSystem.map(
                    base.file.raw, byteCount: Int(bases[0].byteCount), isWritable: false))
        }
        let prefix = FramePrefix(byteCount: Int(bases.reduce(0) { $0 + $1.byteCount }))
        var start = 0
        for base in bases {
            try read(base, into: prefix.room, at: start)
            start += Int(base.byteCount)
        }
        return prefix
    }

    private func read(
        _ base: Reference, into room: UnsafeMutableRawBufferPointer, at start: Int
    ) throws(StoreError) {
        let reader = try open(base)
        var done = 0
        while done < Int(base.byteCount) {
            let rest = UnsafeMutableRawBufferPointer(
                rebasing: room[(start + done)..<(start + Int(base.byteCount))])
            let count: Int
            do throws(StoreError) {
                count = try store.fileSystem.read(reader.file.raw, into: rest, at: Int64(done))
            } catch {
                throw error.ifUnreadable { _ in lacking(base) }
            }
            guard count > 0 else { throw lacking(base) }
            done += count
        }
    }

    private func open(_ base: Reference) throws(StoreError) -> ObjectReader {
        guard let reader = try store.open(base.address), reader.byteCount == base.byteCount else {
            throw lacking(base)
        }
        return reader
    }

    /// Those of a frame's bases whose bytes are not theirs any more: then what comes out of it is wrong, and the pack is not.
    ///
    /// Reads them all; for a frame that came out wrong.
    func damagedBases(of frame: Int) throws(StoreError) -> [ObjectID] {
        guard let baseObjects else { return [] }
        var damaged: [ObjectID] = []
        for base in table.frames[frame].bases.lazy.map({ baseObjects.references[Int($0)] }) {
            do throws(StoreError) {
                let reader = try open(base)
                try reader.forEachPiece { (_) throws(StoreError) in }
            } catch {
                guard error.code == .badPack || error.code == .damagedObject else { throw error }
                damaged.append(base.address)
            }
        }
        return damaged
    }

    private func lacking(_ base: Reference) -> StoreError {
        StoreError(
            .badPack, "the object \(base.address) that a frame is based on is not here whole",
            object: base.address)
    }
}

/// What a frame refers to besides itself, in memory.
private final class FramePrefix {
    /// Memory of its own, if nothing is mapped.
    let room: UnsafeMutableRawBufferPointer
    private let mapped: MappedFile?

    init(byteCount: Int) {
        room = .allocate(byteCount: byteCount, alignment: 16)
        mapped = nil
    }

    init(mapped: MappedFile) {
        room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        self.mapped = mapped
    }

    deinit { room.deallocate() }

    var bytes: UnsafeRawBufferPointer { mapped?.bytes ?? UnsafeRawBufferPointer(room) }
}
