import Platform
import Storage

/// The answer to ListObjectsV2.
struct ListAnswer {
    /// With keys of the bucket, not relative to a prefix; those that are not UTF-8 are left out.
    var files: [ListedFile] = []
    var isTruncated = false
    var token: String?

    init(_ body: [UInt8]) throws(XMLScanner.Malformed) {
        var scanner = try XMLScanner(body, root: "ListBucketResult")
        files.reserveCapacity(1_000)
        var isEncoded = false
        while let name = try scanner.next() {
            switch name {
            case "Contents": files.append(try Self.file(&scanner))
            case "IsTruncated": isTruncated = try scanner.text() == "true"
            case "NextContinuationToken": token = try scanner.text()
            case "EncodingType": isEncoded = try scanner.text() == "url"
            default: try scanner.skip()
            }
        }
        if isEncoded { files = try Self.decoded(files, \.key) }
        guard !isTruncated || !(token ?? "").isEmpty else {
            throw XMLScanner.Malformed()
        }
    }

    private static func file(_ scanner: inout XMLScanner) throws(XMLScanner.Malformed) -> ListedFile
    {
        let texts = try scanner.texts("Key", "Size", "ETag", "LastModified")
        guard let key = texts["Key"], !key.isEmpty, let size = texts["Size"].flatMap(Int64.init),
            size >= 0, let time = texts["LastModified"].flatMap(AnswerTime.element)
        else { throw XMLScanner.Malformed() }
        return ListedFile(
            key: key, byteCount: size, tag: EntityTag(texts["ETag"] ?? ""), modifiedAt: time)
    }

    /// Decodes keys as `encoding-type=url` spells them, in which blanks may be plus signs.
    ///
    /// A key that is not UTF-8 is nobody's: repaired, it would name another file, or be out of order.
    static func decoded<Item>(
        _ items: [Item], _ key: WritableKeyPath<Item, String>
    ) throws(XMLScanner.Malformed) -> [Item] {
        let plus = UInt8(ascii: "+")
        var readable: [Item] = []
        readable.reserveCapacity(items.count)
        for var item in items {
            let bytes = item[keyPath: key].utf8.map { $0 == plus ? UInt8(ascii: " ") : $0 }
            guard let decoded = PercentEncoding.decoded(bytes) else {
                throw XMLScanner.Malformed()
            }
            guard let text = String(validating: decoded, as: UTF8.self) else { continue }
            item[keyPath: key] = text
            readable.append(item)
        }
        return readable
    }
}
