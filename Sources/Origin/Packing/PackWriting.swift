import CASStore
import Delta
import HotPush
import VersionTree
import Zstandard

/// A complete pack on disk, under a temporary name.
struct StagedPack: Sendable, Hashable {
    var name: String
    var pack: Delivery.Pack
    var shares: [CodecShare]
}

struct ChosenFrame {
    var recipe: FrameRecipe
    var codec: PackCodec
    var byteCount: Int64
}

extension FrameMaking {
    private static let tableLevel = 19

    /// Returns `nil` if the pack would be larger than packs may be.
    /// - Parameter all: the frames in the order of the pack; the first is the manifest's.
    func write(
        _ all: [ChosenFrame], from base: PackedContent?, to target: PackedContent, as name: String
    ) throws(StoreError) -> StagedPack? {
        let table = Self.table(all, from: base, to: target)
        let numbers = table.serialized
        guard numbers.count <= PackLimits.tableContentByteCountMax,
            table.frames.count <= PackLimits.frameCountMax,
            let packed = try Self.compressed(numbers)
        else { return nil }
        let byteCount = table.frames.reduce(Int64(PackHead.byteCount + packed.count)) {
            $0.addingClamped($1.byteCount)
        }
        let content = table.contentByteCount.addingClamped(all[0].recipe.contentByteCount)
        guard byteCount <= PackLimits.packByteCountMax(ofContent: content) else { return nil }
        let head = PackHead(tableByteCount: packed.count, packByteCount: byteCount)
        let address = try write(head, packed, all, as: name)
        let pack = Delivery.Pack(
            address: address, byteCount: byteCount,
            openingByteCount: head.framesStart + all[0].byteCount,
            objectCount: Int64(table.objectCount), contentByteCount: table.contentByteCount,
            base: base?.content, codecs: Set(all.map { Int64($0.codec.rawValue) }).sorted(),
            memoryByteCount: all.dropFirst().reduce(0) { max($0, $1.memoryByteCount) })
        return StagedPack(name: name, pack: pack, shares: table.shares)
    }

    private static func table(
        _ all: [ChosenFrame], from base: PackedContent?, to target: PackedContent
    ) -> PackTable {
        var table = PackTable()
        for (position, frame) in all.enumerated() {
            var entry = PackTable.Frame(codec: frame.codec, byteCount: frame.byteCount)
            entry.contentByteCount = frame.recipe.contentByteCount
            if position > 0 {
                if frame.codec.hasBases, let base {
                    entry.bases = frame.recipe.bases.compactMap {
                        base.objects.number(of: $0.address)
                    }
                }
                entry.objects = frame.recipe.objects.compactMap {
                    target.objects.number(of: $0.address)
                }
            }
            table.frames.append(entry)
        }
        return table
    }

    private static func compressed(_ numbers: [UInt8]) throws(StoreError) -> [UInt8]? {
        let encoder = try ZstdEncoder()
        let settings = ZstdEncoder.Settings(
            level: tableLevel, windowLog: PackLimits.windowByteCountMax.trailingZeroBitCount)
        return try numbers.span.bytes.withUnsafeBytes { (numbers) throws(StoreError) in
            try encoder.encode(
                numbers, prefix: UnsafeRawBufferPointer(start: nil, count: 0), settings,
                limit: PackLimits.tableByteCountMax)
        }
    }

    private func write(
        _ head: PackHead, _ table: [UInt8], _ all: [ChosenFrame], as name: String
    ) throws(StoreError) -> ObjectID {
        let file = try frames.fileSystem.open(frames.work, name, .creating, mode: 0o666)
        var digester = try Digester(.sha256)
        var byteCount: Int64 = 0
        // Gathers small frames, each of which costs less than a call to write it.
        var pending: [UInt8] = head.serialized + table
        func flush() throws(StoreError) {
            pending.withUnsafeBytes { digester.update($0) }
            byteCount += Int64(pending.count)
            try frames.fileSystem.write(file.raw, pending)
            pending.removeAll(keepingCapacity: true)
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { buffer.deallocate() }
        for frame in all {
            try forEachPiece(of: frame, buffer) { (piece) throws(StoreError) in
                pending.append(contentsOf: piece)
                if pending.count >= 1 << 20 { try flush() }
            }
        }
        if !pending.isEmpty { try flush() }
        guard byteCount == head.packByteCount else {
            throw StoreError(
                .damagedObject,
                "something changed while packs were made of it; repeat the command")
        }
        return digester.finish { ObjectID(unchecked: $0) }
    }

    private func forEachPiece(
        of frame: ChosenFrame, _ buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        if frame.codec == .stored {
            for object in frame.recipe.objects {
                try source.forEachPiece(of: object, buffer: buffer, body)
            }
        } else {
            try frames.forEachPiece(of: frame.recipe.name(), frame.byteCount, buffer: buffer, body)
        }
    }
}

extension ChosenFrame {
    fileprivate var memoryByteCount: Int64 {
        switch codec {
        case .stored: 0
        // A window is never larger than its content.
        case .compressed: min(recipe.contentByteCount, Int64(PackLimits.windowByteCountMax))
        case .prefixed: recipe.bases.count > 1 ? recipe.prefixByteCount : 0
        case .delta: Int64(DeltaLimits.memoryByteCountMax)
        }
    }
}

// Decodes a written pack and compares every object with its address.
//
// No pack gets its name before, so no device receives what the disk or the compressor has corrupted.
extension FrameMaking {
    /// - Parameters:
    ///   - manifest: the manifest, as if it were an object.
    ///   - prefix: the text against which the manifest is compressed in packs that lead from a content.
    /// - Throws: `.badPack`.
    func prove(
        _ staged: StagedPack, from base: PackedContent?, to target: PackedContent,
        _ manifest: Reference, _ prefix: Reference?
    ) throws(StoreError) {
        let (fileSystem, pack) = (frames.fileSystem, staged.pack)
        let opened = try fileSystem.open(frames.work, staged.name, .reading, mode: 0)
        defer { withExtendedLifetime(opened) {} }
        let file = opened.raw
        let head = try PackHead(
            parsing: fileSystem.read(file, at: 0, count: PackHead.byteCount),
            packByteCount: pack.byteCount)
        let decoder = try ZstdDecoder()
        var read = try PackTable(
            decoding: fileSystem.read(
                file, at: Int64(PackHead.byteCount), count: head.tableByteCount),
            head: head, countMax: Manifest.countMax, decoder: decoder)
        try read.measure(manifest: manifest.byteCount, target.objects, from: base?.objects)
        let table = read
        try Parallel.run(workers: Parallel.workerCount, count: table.frames.count, chunk: 1) {
            (work) throws(StoreError) in
            let decoder = try ZstdDecoder()
            while let chunk = work.nextChunk() {
                for position in chunk {
                    try self.progress.check()
                    let frame = table.frames[position]
                    var objects = frame.objects.map { target.objects.references[Int($0)] }
                    var bases = frame.bases.compactMap { base?.objects.references[Int($0)] }
                    if position == 0 {
                        (objects, bases) = ([manifest], prefix.map { [$0] } ?? [])
                    }
                    try self.check(objects, frame, bases, in: file, decoder)
                }
            }
        }
    }

    private func check(
        _ objects: [Reference], _ frame: PackTable.Frame, _ bases: [Reference], in file: Int32,
        _ decoder: ZstdDecoder
    ) throws(StoreError) {
        if frame.contentByteCount > largeByteCount, objects.count == 1 {
            return try shares.with(
                2 * PackLimits.windowByteCountMax, unless: progress.isInterrupted
            ) { () throws(StoreError) in
                try checkLarge(objects[0], frame, in: file, decoder)
            }
        }
        let bases = frame.codec.hasBases ? bases : []
        let prefixByteCount = bases.reduce(0) { $0 + $1.byteCount }
        try shares.with(
            Int(frame.byteCount + frame.contentByteCount + prefixByteCount),
            unless: progress.isInterrupted
        ) { () throws(StoreError) in
            var prefix: [UInt8] = []
            for base in bases {
                guard let bytes = try source.read(base) else { throw source.missing([base]) }
                prefix += bytes
            }
            let bytes = try frames.fileSystem.read(
                file, at: frame.offset, count: Int(frame.byteCount))
            let byteCount = Int(frame.contentByteCount)
            let content =
                switch frame.codec {
                case .stored: bytes
                case .compressed, .prefixed:
                    try decoder.decode(bytes, byteCount: byteCount, prefix: prefix)
                case .delta:
                    try DeltaDecoder.decode(bytes, base: prefix, byteCount: byteCount)
                }
            try check(objects, in: content)
        }
    }

    private func checkLarge(
        _ object: Reference, _ frame: PackTable.Frame, in file: Int32, _ decoder: ZstdDecoder
    ) throws(StoreError) {
        let mapped = try frames.fileSystem.map(file, byteCount: Int(frame.end), isWritable: false)
        defer { withExtendedLifetime(mapped) {} }
        let bytes = UnsafeRawBufferPointer(rebasing: mapped.bytes[Int(frame.offset)...])
        var digester = try Digester(.sha256)
        if frame.codec == .stored {
            digester.update(bytes)
        } else {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
            defer { buffer.deallocate() }
            try decoder.decode(
                bytes, byteCount: frame.contentByteCount,
                windowByteCountMax: PackLimits.windowByteCountMax, buffer: buffer
            ) { (piece) throws(StoreError) in
                try progress.check()
                digester.update(piece)
            }
        }
        try check(digester.finish { ObjectID(unchecked: $0) }, is: object)
    }

    private func check(_ objects: [Reference], in content: [UInt8]) throws(StoreError) {
        var hasher = try ObjectHasher()
        var offset = 0
        for object in objects {
            let end = offset + Int(object.byteCount)
            guard end <= content.count else { throw .badPack("a frame is too short") }
            let found = content.withUnsafeBytes {
                hasher.hash(UnsafeRawBufferPointer(rebasing: $0[offset..<end])).address
            }
            try check(found, is: object)
            offset = end
        }
    }

    private func check(_ found: ObjectID, is object: Reference) throws(StoreError) {
        guard found == object.address else {
            throw .badPack(
                "object \(object.address) does not come out of it; repeat the command, and check the disk "
                    + "if that does not help")
        }
    }
}
