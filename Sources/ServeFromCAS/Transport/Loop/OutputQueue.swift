/// What a stream has still to send, in order.
struct OutputQueue {
    enum Segment {
        case bytes([UInt8], from: Int)
        case file(OpenObject, range: Range<Int64>)
    }

    private var segments: [Segment] = []
    private var first = 0
    /// Bytes in memory that wait; ranges of files are not counted.
    private(set) var byteCount = 0

    var isEmpty: Bool { first == segments.count }
    var head: Segment? { isEmpty ? nil : segments[first] }
    /// Whether more follows the first segment.
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

    /// Counts `count` bytes of the first segment as sent.
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

    mutating func removeAll() {
        segments.removeAll()
        first = 0
        byteCount = 0
    }
}
