/// What a stream still has to send, in order.
struct OutputQueue {
    enum Segment {
        case bytes([UInt8], from: Int)
        case file(any ContentFile, range: Range<Int64>)
    }

    private var segments: [Segment] = []
    private var first = 0
    /// The bytes in memory that wait; ranges of files do not count.
    private(set) var byteCount = 0

    var isEmpty: Bool { first == segments.count }
    var head: Segment? { isEmpty ? nil : segments[first] }
    var hasMore: Bool { segments.count - first > 1 }

    mutating func append(_ segment: Segment) {
        switch segment {
        case .bytes(let bytes, let from):
            guard bytes.count > from else { return }
            byteCount += bytes.count - from
        case .file(_, let range):
            guard !range.isEmpty else { return }
        }
        segments.append(segment)
    }

    mutating func advance(_ count: Int) {
        switch segments[first] {
        case .bytes(let bytes, let from):
            byteCount -= count
            if from + count < bytes.count {
                segments[first] = .bytes(bytes, from: from + count)
                return
            }
        case .file(let object, let range):
            let start = range.lowerBound + Int64(count)
            if start < range.upperBound {
                segments[first] = .file(object, range: start..<range.upperBound)
                return
            }
        }
        segments[first] = .bytes([], from: 0)
        first += 1
        if isEmpty {
            segments.removeAll()
            first = 0
        }
    }

    /// Counts `count` bytes as sent, which may extend over several segments.
    mutating func advance(across count: Int) {
        var rest = count
        while rest > 0, let head {
            let length: Int
            switch head {
            case .bytes(let bytes, let from): length = bytes.count - from
            case .file(_, let range): length = range.count
            }
            advance(min(rest, length))
            rest -= min(rest, length)
        }
    }

    /// Copies what comes next, as much as fits.
    /// - Returns: how many bytes, or the object whose file has become too short.
    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Gathered {
        var count = 0
        for segment in segments[first...] {
            let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            guard !buffer.isEmpty else { break }
            switch segment {
            case .bytes(let bytes, let from):
                let length = min(bytes.count - from, buffer.count)
                bytes.withUnsafeBytes {
                    buffer.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: $0[from..<from + length]))
                }
                count += length
            case .file(let object, let range):
                let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(range.count))
                guard Socket.readFile(object.raw, at: range.lowerBound, into: wanted) else {
                    return .shortened(object)
                }
                count += wanted.count
            }
        }
        return .bytes(count)
    }

    enum Gathered {
        case bytes(Int)
        case shortened(any ContentFile)
    }

    mutating func removeAll() {
        segments.removeAll()
        first = 0
        byteCount = 0
    }
}

/// A fixed range of memory in which a loop gathers what it sends with one call.
struct SendBuffer: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) {
        memory = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit { memory.deallocate() }

    var space: Int { memory.count - count }
    var isEmpty: Bool { count == 0 }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// - Precondition: the bytes fit.
    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= space)
        guard let source = bytes.baseAddress, let target = memory.baseAddress else { return }
        (target + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// - Precondition: there is space for ``ObjectFields/byteCountMax`` bytes.
    @inline(__always)
    mutating func append(_ fields: ObjectFields) {
        precondition(ObjectFields.byteCountMax <= space)
        guard let target = memory.baseAddress else { return }
        let end = (target + count).assumingMemoryBound(to: UInt8.self)
        count += fields.write(to: end)
    }

    mutating func clear() { count = 0 }
}
