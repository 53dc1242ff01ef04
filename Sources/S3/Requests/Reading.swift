import Platform
import Storage

/// A read in progress, which tracks the bytes still wanted whatever the answers bring.
///
/// After a broken connection it continues from the same position. A store without ranges sends everything, and
/// unwanted bytes are skipped. Used by one thread.
final class Reading {
    let request: ReadRequest
    private let name: String
    private let now: Int64
    private let start: Int64
    private(set) var deliveredCount: Int64 = 0
    private(set) var problem: StoreError?
    /// Whether more has come than is wanted; the rest is not waited for.
    private(set) var hasSurplus = false
    private var isBeyondEnd = false
    private var file: StoredFile?
    private var total: Int64?
    /// The offset in the file of the answer's next byte.
    private var position: Int64 = 0

    init(_ request: ReadRequest, _ name: String, now: Int64) {
        self.request = request
        self.name = name
        self.now = now
        start = request.range?.lowerBound ?? 0
    }

    /// The end of the wanted bytes; `nil` if unknown.
    private var end: Int64? {
        guard let total else { return request.range?.upperBound }
        return min(request.range?.upperBound ?? total, total)
    }

    /// The field `Range` of the next try; `nil` for all.
    var rangeField: String? {
        var from = start + deliveredCount
        // All bytes have come but not the end, so one is requested again and skipped.
        if let end, from >= end, deliveredCount > 0 { from = end - 1 }
        if let end { return "bytes=\(from)-\(max(end, from + 1) - 1)" }
        return from > 0 ? "bytes=\(from)-" : nil
    }

    func begin(_ head: AnswerHead) -> BodyUse {
        var size = head["content-length"].flatMap(Int64.init)
        switch head.status {
        case 200: position = 0
        case 206:
            guard let range = head["content-range"].flatMap({ ContentRange($0) }),
                let bytes = range.bytes, let total = range.total
            else { return refuse(.bucketAnswer, "a part without a Content-Range came") }
            (position, size) = (bytes.lowerBound, total)
        default: return refuse(.bucketAnswer, "status \(head.status) came")
        }
        let new = StoredFile(head, byteCount: size ?? 0, now: now)
        if let file, file.tag != new.tag || total != size {
            return refuse(.network, "it was replaced while it was read; repeat the command")
        }
        file = new
        total = size
        if let size, request.range != nil, start >= size {
            isBeyondEnd = true
            return .refuse
        }
        guard position <= start + deliveredCount else {
            return refuse(.bucketAnswer, "other bytes came than were asked for")
        }
        if let end, end - start > request.byteCountMax { return refuseSize() }
        return .stream
    }

    func wanted(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let first = position
        position += Int64(bytes.count)
        if let range = request.range, position > range.upperBound { hasSurplus = true }
        let from = max(start + deliveredCount - first, 0)
        let to = min((request.range?.upperBound ?? .max) - first, Int64(bytes.count))
        guard from < to else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        guard to - from <= request.byteCountMax - deliveredCount else {
            _ = refuseSize()
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        deliveredCount += to - from
        return UnsafeRawBufferPointer(rebasing: bytes[Int(from)..<Int(to)])
    }

    func outcome(_ answer: S3Answer) throws(StoreError) -> ReadOutcome {
        if isBeyondEnd { return .beyondEnd }
        if let problem { throw problem }
        switch answer.status {
        case 200, 206:
            guard var file else { break }
            if total == nil { file.byteCount = position }
            if let end, deliveredCount != end - start { break }
            return .found(file)
        // Without the condition, it would say that the file is missing.
        case 304 where deliveredCount == 0 && request.unlessTag != nil: return .notModified
        case 404 where deliveredCount == 0: return .missing
        case 416 where deliveredCount == 0 && request.range != nil: return .beyondEnd
        default: break
        }
        throw StoreError(
            .bucketAnswer, "reading \(name) ended at \(answer.status) after \(deliveredCount) bytes"
        )
    }

    private func refuse(_ code: StoreError.Code, _ what: String) -> BodyUse {
        problem = StoreError(code, "reading \(name) failed: \(what)")
        return .refuse
    }

    private func refuseSize() -> BodyUse {
        refuse(.tooLarge, "it has more than \(request.byteCountMax) bytes")
    }
}
