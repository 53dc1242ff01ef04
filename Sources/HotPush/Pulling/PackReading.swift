import CASStore
import Delta
import VersionTree
import Zstandard

/// The verified beginning of a pack: its table and the release's manifest.
struct PackOpening: Sendable {
    let pack: Delivery.Pack
    let table: PackTable
    let bytes: [UInt8]
    let manifest: Manifest
    let objects: NumberedObjects
    let baseObjects: NumberedObjects?

    /// Reads the first ``Delivery/Pack/openingByteCount`` bytes of a pack.
    /// - Parameter base: the manifest of the pack's base content; `nil` for a full pack.
    /// - Throws: `.badPack` with the reason; `.badManifest` for a manifest that nobody should have published.
    init(
        parsing text: UnsafeRawBufferPointer, of pack: Delivery.Pack,
        to version: PublishedVersion, from base: Manifest?, limits: Manifest.Limits
    ) throws(StoreError) {
        guard text.count == Int(pack.openingByteCount), text.count > PackHead.byteCount else {
            throw .badPack("its beginning is cut off")
        }
        let head = try PackHead(
            parsing: Array(text[..<PackHead.byteCount]), packByteCount: pack.byteCount)
        let end = Int(head.framesStart)
        guard end < text.count else { throw .badPack("its table is longer than its beginning") }
        let decoder = try ZstdDecoder()
        var table = try PackTable(
            decoding: Array(text[PackHead.byteCount..<end]), head: head, countMax: limits.count,
            decoder: decoder)
        guard table.frames[0].end == pack.openingByteCount else {
            throw .badPack(
                "its beginning has \(table.frames[0].end) bytes, and its delivery says "
                    + "\(pack.openingByteCount)")
        }
        let bytes = try Self.manifest(table.frames[0], Array(text[end...]), version, base, decoder)
        let manifest = try Manifest(parsing: bytes, limits: limits)
        let objects = NumberedObjects(of: manifest)
        let baseObjects = base.map { NumberedObjects(of: $0) }
        try table.measure(manifest: version.manifestByteCount, objects, from: baseObjects)
        try Self.hold(table, against: pack)
        try Self.refuseManyBases(table, baseObjects)
        self.pack = pack
        self.table = table
        self.bytes = bytes
        self.manifest = manifest
        self.objects = objects
        self.baseObjects = baseObjects
    }

    /// The name of a frame's partial file, by which it counts as progress of the version until nothing needs it.
    func part(ofFrame index: Int) throws(StoreError) -> PartName {
        let name = try ObjectID(of: Array("castree-frame 1\n\(pack.address) \(index)\n".utf8))
        let frame = table.frames[index]
        let largest = frame.objects.lazy.map { objects.references[Int($0)] }
            .max { ($0.byteCount, $0.address) < ($1.byteCount, $1.address) }
        guard let largest else { return PartName(name) }
        return PartName(name, byteCount: frame.byteCount, leadingTo: largest.address)
    }

    // The device has decided by the delivery's figures, so they must be true.
    private static func hold(_ table: PackTable, against pack: Delivery.Pack) throws(StoreError) {
        guard table.contentByteCount == pack.contentByteCount,
            Int64(table.objectCount) == pack.objectCount
        else { throw .badPack("it contains something else than its delivery says") }
        for frame in table.frames where !pack.codecs.contains(Int64(frame.codec.rawValue)) {
            throw .badPack("it has frames of codec \(frame.codec.rawValue), unlike its delivery")
        }
    }

    // Bounds the work by the output: no pack may make a device read the same bases endlessly.
    private static func refuseManyBases(
        _ table: PackTable, _ objects: NumberedObjects?
    ) throws(StoreError) {
        guard let objects else { return }
        var sum: Int64 = 0
        for base in table.frames.lazy.flatMap(\.bases) {
            sum = sum.addingClamped(objects.references[Int(base)].byteCount)
        }
        let (scaled, isHuge) = table.contentByteCount.multipliedReportingOverflow(by: 512)
        let limit = isHuge ? .max : scaled.addingClamped(PackLimits.allBasesByteCountMax)
        guard sum <= limit else { throw .badPack("its bases have \(sum) bytes") }
    }

    private static func manifest(
        _ frame: PackTable.Frame, _ bytes: [UInt8], _ version: PublishedVersion, _ base: Manifest?,
        _ decoder: ZstdDecoder
    ) throws(StoreError) -> [UInt8] {
        let manifest: [UInt8]
        do throws(StoreError) {
            switch frame.codec {
            case .stored: manifest = bytes
            case .compressed:

                manifest = try decoder.decode(bytes, byteCount: Int(version.manifestByteCount))
            case .delta: throw .badPack("its manifest cannot be a delta")
            case .prefixed:
                guard let base,
                    version.manifestByteCount <= PackLimits.prefixedManifestByteCountMax
                else { throw .badPack("its manifest cannot have a prefix") }
                manifest = try decoder.decode(
                    bytes, byteCount: Int(version.manifestByteCount), prefix: base.plainEntries())
            }
        } catch {
            throw .badPack("its manifest: \(error.message)")
        }
        guard try ObjectID(of: manifest) == version.manifest else {
            throw .badPack("its manifest is not the release's")
        }
        return manifest
    }
}

/// The wanted part of a pack, once its opening is known.
struct PackWish {
    let unpacker: FrameUnpacker
    let frames: [Bool]
    /// Includes the gaps inside a request.
    let byteCount: Int64
    let cost: Int64
    let objectsCost: Int64
    /// The disk space that a frame takes beside what comes out of it, at most.
    let besideByteCount: Int64

    /// Nil if the pack has no object that is missing from `download`.
    init?(_ opening: PackOpening, of store: Store, for download: Download) throws(StoreError) {
        let unpacker = try FrameUnpacker(opening, of: store, for: download)
        var frames: [Bool] = []
        var objectsCost: Int64 = 0
        var besideByteCount: Int64 = 0
        for frame in opening.table.frames.indices {
            let wanted = unpacker.objects(of: frame).filter { download.isMissing($0.address) }
            frames.append(!wanted.isEmpty)
            if !wanted.isEmpty {
                besideByteCount = max(besideByteCount, unpacker.byteCount(beside: frame))
            }
            for object in wanted { objectsCost += object.byteCount + PackSpans.requestByteCount }
        }
        guard objectsCost > 0 else { return nil }
        let runs = PackSpans.runs(of: opening.table) { frames[$0] }
        self.unpacker = unpacker
        self.frames = frames
        self.objectsCost = objectsCost
        self.besideByteCount = besideByteCount
        cost = PackSpans.cost(of: runs, in: opening.table)
        byteCount = cost - Int64(runs.count) * PackSpans.requestByteCount
    }
}

enum PackSpans {
    /// The bytes that one request is worth: its head, the answer's head, and the wait for the first byte.
    static let requestByteCount: Int64 = 8 << 10

    /// Runs of frames for one request each: neighbours, and frames whose gap is cheaper than a request.
    static func runs(of table: PackTable, wanted isWanted: (Int) -> Bool) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for position in table.frames.indices.dropFirst() where isWanted(position) {
            if let last = runs.last,
                table.frames[position].offset - table.frames[last.upperBound - 1].end
                    <= requestByteCount
            {
                runs[runs.count - 1] = last.lowerBound..<position + 1
            } else {
                runs.append(position..<position + 1)
            }
        }
        return runs
    }

    static func cost(of runs: [Range<Int>], in table: PackTable) -> Int64 {
        runs.reduce(0) { sum, run in
            sum + table.frames[run.upperBound - 1].end - table.frames[run.lowerBound].offset
                + requestByteCount
        }
    }
}

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

    init(_ opening: PackOpening, of store: Store, for download: Download) throws(StoreError) {
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
        let isMapped = frame.codec.hasBases && frame.contentByteCount > Self.heapByteCountMax
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
        case .compressed, .prefixed, .delta:
            // Refused before its base is read, if it would take too much time or memory.
            if frame.codec == .delta { _ = try DeltaHeader(of: bytes) }
            let prefix = try prefix(of: frame)
            if byteCount > Self.heapByteCountMax {
                let target = try download.incoming.makeScratch(byteCount: byteCount)
                try decode(bytes, frame.codec, prefix.bytes, into: target.writable)
                try outlet.take(target.bytes)
            } else {
                let target = buffer(for: byteCount)
                try decode(bytes, frame.codec, prefix.bytes, into: target)
                try outlet.take(UnsafeRawBufferPointer(target))
            }
            withExtendedLifetime(prefix) {}
        }
        return try outlet.finish()
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer, _ codec: PackCodec, _ bases: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) throws(StoreError) {
        if codec == .delta {
            try DeltaDecoder.decode(bytes, base: bases, into: target)
        } else {
            try decoder.decode(bytes, prefix: bases, into: target)
        }
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
