import Platform

/// Answers to requests for parts of a representation (RFC 9110, sections 14 and 15.3.7).
enum RangeAnswer {
    /// 206 or 416; `nil` if the whole representation is to be sent.
    static func response(
        _ value: FieldText, _ shown: Representation
    ) -> Response? {
        let size = shown.resource.byteCount
        switch ByteRanges(value, size: size) {
        case .ignored: return nil
        case .unsatisfiable:
            return PlainAnswer.response(
                416, "The file has \(size) bytes, but the range has none of them.", method: .get,
                fields: [("Content-Range", "bytes */\(size)"), ("Accept-Ranges", "bytes")])
        case .ranges(let ranges):
            // A single range is never sent as multipart, even if the request also named unsatisfiable ones.
            guard ranges.count > 1 else { return single(ranges[0], shown) }
            return multiple(ranges, shown)
        }
    }

    private static func single(
        _ range: Range<Int64>, _ shown: Representation
    ) -> Response {
        let resource = shown.resource
        var head = shown.part(
            length: range.upperBound - range.lowerBound, contentType: shown.contentType)
        head.add("Content-Range", contentRange(range, resource.byteCount))
        return Response(
            head: head,
            body: .piece(.object(resource.address, range: range, size: resource.byteCount)))
    }

    /// Parts as `multipart/byteranges` (section 14.6), in the order requested.
    private static func multiple(
        _ ranges: [Range<Int64>], _ shown: Representation
    ) -> Response {
        let (resource, contentType) = (shown.resource, shown.contentType)
        let boundary = boundary(resource.address)
        var pieces: [Response.Piece] = []
        var length: Int64 = 0
        var isFirst = true
        for range in ranges {
            let text =
                (isFirst ? "" : "\r\n") + "--\(boundary)\r\nContent-Type: \(contentType)\r\n"
                + "Content-Range: \(contentRange(range, resource.byteCount))\r\n\r\n"
            isFirst = false
            let bytes = Array(text.utf8)
            pieces.append(.bytes(bytes))
            pieces.append(.object(resource.address, range: range, size: resource.byteCount))
            length += Int64(bytes.count) + range.upperBound - range.lowerBound
        }
        let end = Array("\r\n--\(boundary)--\r\n".utf8)
        pieces.append(.bytes(end))
        length += Int64(end.count)
        let head = shown.part(
            length: length, contentType: "multipart/byteranges; boundary=\(boundary)")
        return Response(head: head, body: .pieces(pieces))
    }

    private static func contentRange(_ range: Range<Int64>, _ size: Int64) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }

    /// A line that does not occur in the content: nobody can write a file that contains its own SHA-256.
    private static func boundary(_ address: ObjectID) -> String {
        "castree-" + address.description.prefix(48)
    }
}
