import CASStore
import HotPush
import VersionTree
import Zstandard

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
        let isPrefixed = frame.codec == .prefixed
        let prefixByteCount = isPrefixed ? bases.reduce(0) { $0 + $1.byteCount } : 0
        try shares.with(
            Int(frame.byteCount + frame.contentByteCount + prefixByteCount),
            unless: progress.isInterrupted
        ) { () throws(StoreError) in
            var prefix: [UInt8] = []
            for base in isPrefixed ? bases : [] {
                guard let bytes = try source.read(base) else { throw source.missing([base]) }
                prefix += bytes
            }
            let bytes = try frames.fileSystem.read(
                file, at: frame.offset, count: Int(frame.byteCount))
            let content =
                frame.codec == .stored
                ? bytes
                : try decoder.decode(
                    bytes, byteCount: Int(frame.contentByteCount), prefix: prefix)
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
