internal import Platform

/// A file of a zip archive, by both of its headers, and where its bytes are.
struct ZipFile {
    let header: ZipHeader
    let start: Int64
    let content: Range<Int64>
    /// Whether its local header announces a data descriptor.
    let hasDescriptor: Bool
    let hasLargeDescriptor: Bool
}

/// Compares what precedes each file of a zip archive with the directory, and accounts for every byte.
///
/// Some programs read by the directory, others from file to file: from pipes, and with Java's ZipInputStream, as
/// CodePush's clients do. Only an archive that is the same for both is accepted: the files are adjacent from the
/// first byte on, and between the last one and the directory there is no file.
///
/// bsdtar, Windows' tar and others write sizes before a file although a data descriptor follows it. APPNOTE.TXT
/// 6.3.10, 4.4.4, wants zeros there. The true number is no contradiction.
struct ZipLayout {
    private let source: ArchiveSource
    private let directory: Int64
    /// In the order of the directory.
    private(set) var files: [ZipFile] = []

    init(_ source: ArchiveSource, before directory: Int64) {
        self.source = source
        self.directory = directory
    }

    /// Encryption, and headers that it hides (4.4.4); only some programs heed a flag in one header alone.
    private static let decidingFlags: Int64 = 0x2041

    /// - Throws: `.badArchive`.
    mutating func add(_ header: ZipHeader) throws(StoreError) {
        let local = try local(header)
        let mayBeZero = local.flags & ZipHeader.hasDescriptor != 0
        let numbers = [\ZipHeader.crc, \.stored, \.byteCount]
        let isSame = numbers.allSatisfy {
            local[keyPath: $0] == header[keyPath: $0] || mayBeZero && local[keyPath: $0] == 0
        }
        let flags = Self.decidingFlags | (header.isASCII ? 0 : 0x800)
        guard isSame, local.name == header.name, local.method == header.method,
            (local.flags ^ header.flags) & flags == 0
        else { throw differing(header) }
        for other in [local.otherName, header.otherName] where other != nil && other != header.name
        {
            throw source.name.refusal(
                "it has another name besides, \"\(printable(String(decoding: other ?? [], as: UTF8.self)))\", "
                    + "which some programs take instead", entry: header.entry)
        }
        let start = header.start + Int64(local.headerByteCount)
        guard header.stored <= directory - start else { throw overlapping(header) }
        files.append(
            ZipFile(
                header: header, start: header.start, content: start..<start + header.stored,
                hasDescriptor: mayBeZero,
                hasLargeDescriptor: local.isLarge
                    || max(header.stored, header.byteCount) >= 0xFFFF_FFFF))
    }

    private func local(_ header: ZipHeader) throws(StoreError) -> ZipHeader {
        let place = ZipHeader.Place.local
        guard header.start >= 0, header.start <= directory - Int64(place.byteCount) else {
            throw overlapping(header)
        }
        // Nearly always the rest is no longer than in the directory.
        let space = directory - header.start
        let wanted = min(space, Int64(header.headerByteCount + 64))
        var bytes = try source.read(at: header.start, count: Int(wanted))
        guard let rest = ZipHeader.rest(of: bytes, place) else { throw differing(header) }
        let byteCount = place.byteCount + rest
        guard Int64(byteCount) <= space else { throw overlapping(header) }
        if byteCount > bytes.count {
            bytes = try source.read(at: header.start, count: byteCount)
        }
        return try ZipHeader(bytes, place, of: source.name)
    }

    private func differing(_ header: ZipHeader) -> StoreError {
        source.name.refusal(
            "it is damaged: the directory of the archive and what stands before the file differ",
            entry: header.entry)
    }

    private func overlapping(_ header: ZipHeader) -> StoreError {
        source.name.refusal("it lies over something else", entry: header.entry)
    }

    // MARK: Every byte

    /// Refuses files that overlap each other or the directory, and gaps that may contain another file.
    /// - Throws: `.badArchive`.
    func check() throws(StoreError) {
        var end: Int64 = 0
        if directory >= 4, ArchiveFormat.partMarks.contains(try source.read(at: 0, count: 4)) {
            end = 4
        }
        for file in files.sorted(by: { $0.start < $1.start }) {
            guard file.start >= end else { throw overlapping(file.header) }
            guard file.start == end else {
                throw source.name.refusal(
                    "something lies before it that the archive's directory does not list",
                    entry: file.header.entry)
            }
            end = file.content.upperBound
            if file.hasDescriptor { end += try descriptorByteCount(after: file) }
            try checkContent(of: file)
        }
        // Android's packages have their signature there.
        try scan(end..<directory, for: Zip.signature(3, 4)) { (_, _) throws(StoreError) in
            throw source.name.refusal(
                "it holds a file that its directory does not list; make it anew from an unpacked directory"
            )
        }
    }

    /// The length of a data descriptor (4.3.9); its signature may be missing.
    private func descriptorByteCount(after file: ZipFile) throws(StoreError) -> Int64 {
        let (header, end) = (file.header, file.content.upperBound)
        let width = file.hasLargeDescriptor ? 8 : 4
        let numbers =
            Zip.bytes(header.crc, 4) + Zip.bytes(header.stored, width)
            + Zip.bytes(header.byteCount, width)
        let signature = Zip.signature(7, 8)
        let bytes = try source.read(
            at: end, count: Int(min(directory - end, Int64(signature.count + numbers.count))))
        if bytes.starts(with: signature + numbers) {
            return Int64(signature.count + numbers.count)
        }
        // A checksum that looks like the signature would be taken for it.
        guard bytes.starts(with: numbers), !bytes.starts(with: signature) else {
            throw source.name.refusal(
                "it is damaged: the directory of the archive and what stands after the file differ",
                entry: header.entry)
        }
        return Int64(numbers.count)
    }

    /// Refuses content in which a reader from file to file may see a premature end.
    private func checkContent(of file: ZipFile) throws(StoreError) {
        switch file.header.method {
        // Deflated bytes tell where they end, which is checked when they are read.
        case ZipContent.deflated: return
        case ZipContent.stored:
            guard file.hasDescriptor else { return }
            // Its length is not known before it: such programs search for the descriptor, and compare the sizes.
            try scan(file.content, for: Zip.signature(7, 8)) { position, bytes throws(StoreError) in
                let length = position - file.content.lowerBound
                guard [4, 8].contains(where: { Zip.number(bytes, 8, $0) == length }) else { return }
                throw source.name.refusal(
                    "its content looks like its end and the beginning of another file",
                    entry: file.header.entry)
            }
        // Only libarchive knows what happens to bytes behind the end of other methods.
        default:
            try scan(file.content, for: Zip.signature(3, 4)) { (_, _) throws(StoreError) in
                throw source.name.refusal(
                    "its compressed bytes look like the beginning of another file; make the archive with DEFLATE",
                    entry: file.header.entry)
            }
        }
    }

    /// Calls `found` wherever a signature occurs in a part of the archive, with up to 16 bytes from there.
    private func scan(
        _ part: Range<Int64>, for signature: [UInt8],
        _ found: (Int64, ArraySlice<UInt8>) throws(StoreError) -> Void
    ) throws(StoreError) {
        let (stretch, more) = (Int64(1 << 20), Int64(16))
        var position = part.lowerBound
        while position < part.upperBound {
            let next = min(position + stretch, part.upperBound)
            let bytes = try source.read(
                at: position, count: Int(min(next + more, part.upperBound) - position))
            for index in 0..<Int(next - position)
            where bytes[index] == signature[0] && bytes[index...].starts(with: signature) {
                try found(position + Int64(index), bytes[index...])
            }
            position = next
        }
    }
}
