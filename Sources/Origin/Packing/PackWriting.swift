import CASStore
import HotPush
import Zstandard

/// A complete pack on disk, under a temporary name.
struct StagedPack: Sendable, Hashable {
    var name: String
    var pack: Delivery.Pack
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
        return StagedPack(name: name, pack: pack)
    }

    private static func table(
        _ all: [ChosenFrame], from base: PackedContent?, to target: PackedContent
    ) -> PackTable {
        var table = PackTable()
        for (position, frame) in all.enumerated() {
            var entry = PackTable.Frame(codec: frame.codec, byteCount: frame.byteCount)
            entry.contentByteCount = frame.recipe.contentByteCount
            if position > 0 {
                if frame.codec == .prefixed, let base {
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
            let recipe = frame.codec == .compressed ? frame.recipe.plain : frame.recipe
            try frames.forEachPiece(
                of: recipe.name(), frame.byteCount, buffer: buffer, body)
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
        }
    }
}
