import CASStore
import VersionTree
import Zstandard

/// Turns the frames of a pack into objects, on one thread.
///
/// Needs at most ``Delivery/Pack/memoryByteCountMax`` of memory, whatever a frame contains: larger content is mapped.
final class FrameUnpacker {
    private let opening: PackOpening
    private let store: Store
    private let download: Download
    private let decoder: ZstdDecoder
    private var buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// Content up to this size is decoded on the heap.
    private static let heapByteCountMax = 4 << 20
    /// A single base up to this size is read; a larger one is mapped.
    private static let readByteCountMax: Int64 = 1 << 20

    init(
        _ opening: PackOpening, of store: Store, for download: Download
    ) throws(StoreError) {
        self.opening = opening
        self.store = store
        self.download = download
        decoder = try ZstdDecoder()
    }

    deinit { buffer.deallocate() }

    func objects(of frame: Int) -> [Reference] {
        opening.table.frames[frame].objects.map { opening.objects.references[Int($0)] }
    }

    /// The disk space that a frame takes while its objects come out of it.
    func byteCount(beside frame: Int) -> Int64 {
        let frame = opening.table.frames[frame]
        let staged = frame.byteCount > IncomingContents.memoryByteCount ? frame.byteCount : 0
        let isMapped = frame.codec == .prefixed && frame.contentByteCount > Self.heapByteCountMax
        return isMapped ? staged.addingClamped(frame.contentByteCount) : staged
    }

    /// Returns the objects that came out wrong.
    /// - Throws: `.badPack`, `.badFrame` if the frame cannot be decoded; what taking an object throws.
    func unpack(_ bytes: UnsafeRawBufferPointer, frame: Int) throws(StoreError) -> [Reference] {
        var outlet = ObjectOutlet(objects(of: frame), download)
        let frame = opening.table.frames[frame]
        let byteCount = Int(frame.contentByteCount)
        switch frame.codec {
        case .stored: try outlet.take(bytes)
        case .compressed where byteCount > Self.heapByteCountMax:
            var feeding = consume outlet
            try decoder.decode(
                bytes, byteCount: frame.contentByteCount,
                windowByteCountMax: PackLimits.windowByteCountMax, buffer: buffer(for: 128 << 10)
            ) { (piece) throws(StoreError) in try feeding.take(piece) }
            outlet = feeding
        case .compressed, .prefixed:
            let prefix = try prefix(of: frame)
            if byteCount > Self.heapByteCountMax {
                let target = try download.incoming.makeScratch(byteCount: byteCount)
                try decoder.decode(bytes, prefix: prefix.bytes, into: target.writable)
                try outlet.take(target.bytes)
            } else {
                let target = buffer(for: byteCount)
                try decoder.decode(bytes, prefix: prefix.bytes, into: target)
                try outlet.take(UnsafeRawBufferPointer(target))
            }
            withExtendedLifetime(prefix) {}
        }
        return try outlet.finish()
    }

    private func buffer(for byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if buffer.count < byteCount {
            buffer.deallocate()
            buffer = .allocate(byteCount: byteCount, alignment: 16)
        }
        return UnsafeMutableRawBufferPointer(rebasing: buffer[..<byteCount])
    }

    // MARK: Bases

    private func prefix(of frame: PackTable.Frame) throws(StoreError) -> FramePrefix {
        guard let baseObjects = opening.baseObjects, !frame.bases.isEmpty else {
            return FramePrefix(byteCount: 0)
        }
        let bases = frame.bases.map { baseObjects.references[Int($0)] }
        if bases.count == 1, bases[0].byteCount > Self.readByteCountMax {
            let base = try open(bases[0])
            // A failed disk read is an error here; in mapped memory it would be a fatal SIGBUS.
            let piece = buffer(for: 128 << 10)
            try read(bases[0], from: base) { _ in piece }
            return FramePrefix(
                mapped: try store.fileSystem.map(
                    base.file.raw, byteCount: Int(bases[0].byteCount), isWritable: false))
        }
        let prefix = FramePrefix(byteCount: Int(bases.reduce(0) { $0 + $1.byteCount }))
        var start = 0
        for base in bases {
            let buffer = prefix.buffer[start..<(start + Int(base.byteCount))]
            try read(base, from: try open(base)) {
                UnsafeMutableRawBufferPointer(rebasing: buffer.dropFirst($0))
            }
            start += Int(base.byteCount)
        }
        return prefix
    }

    private func read(
        _ base: Reference, from reader: borrowing ObjectReader,
        into place: (Int) -> UnsafeMutableRawBufferPointer
    ) throws(StoreError) {
        var done = 0
        while done < Int(base.byteCount) {
            let count: Int
            do throws(StoreError) {
                count = try store.fileSystem.read(
                    reader.file.raw, into: place(done), at: Int64(done))
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

    /// Reads all bases of a frame that came out wrong; if any is damaged, the pack is not to blame.
    func damagedBases(of frame: Int) throws(StoreError) -> [ObjectID] {
        guard let baseObjects = opening.baseObjects else { return [] }
        var damaged: [ObjectID] = []
        for base in opening.table.frames[frame].bases.lazy.map({ baseObjects.references[Int($0)] })
        {
            let isSound =
                try allowing(
                    [.badPack, .damagedObject],
                    try open(base).forEachPiece { (_) throws(StoreError) in }) != nil
            if !isSound { damaged.append(base.address) }
        }
        return damaged
    }

    private func lacking(_ base: Reference) -> StoreError {
        StoreError(
            .badPack, "the object \(base.address) that a frame is based on is not here whole",
            object: base.address)
    }
}

private final class FramePrefix {
    let buffer: UnsafeMutableRawBufferPointer
    private let mapped: MappedFile?

    init(byteCount: Int) {
        buffer = .allocate(byteCount: byteCount, alignment: 16)
        mapped = nil
    }

    init(mapped: MappedFile) {
        buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        self.mapped = mapped
    }

    deinit { buffer.deallocate() }

    var bytes: UnsafeRawBufferPointer { mapped?.bytes ?? UnsafeRawBufferPointer(buffer) }
}

private struct ObjectOutlet: ~Copyable {
    private let objects: [Reference]
    private let download: Download
    private var position = 0
    private var rest: Int64
    private var item: IncomingContent?
    private var wrong: [Reference] = []

    init(_ objects: [Reference], _ download: Download) {
        self.objects = objects
        self.download = download
        rest = -1
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        var bytes = bytes
        while position < objects.count {
            let object = objects[position]
            if rest < 0 {
                rest = object.byteCount
                item = try download.begin(object)
                // A part from elsewhere is useless: all bytes come now.
                if (item?.offset ?? 0) > 0 { try item?.restart() }
            }
            let count = Int(min(rest, Int64(bytes.count)))
            if count > 0 {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                try item?.append(piece.bytes)
                bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
                rest -= Int64(count)
            }
            guard rest == 0 else { return }
            if let item = item.take(), try !download.finish(object.address, item) {
                wrong.append(object)
            }
            position += 1
            rest = -1
        }
        guard bytes.isEmpty else { throw .badPack("a frame continues after its objects") }
    }

    /// Returns the objects that came out wrong; throws `.badPack` if bytes are missing.
    consuming func finish() throws(StoreError) -> [Reference] {
        guard position == objects.count else { throw .badPack("a frame ends before its objects") }
        return wrong
    }
}
