import Platform
import Storage

/// The answer to ListObjectsV2.
struct ListAnswer {
    /// The keys of the bucket, not relative to a prefix; without those that are not UTF-8.
    var files: [ListedFile] = []
    /// Whether more follow.
    var isTruncated = false
    /// What asks for them.
    var token: String?
    /// Whether the keys are percent-encoded.
    private var isEncoded = false

    init(_ body: [UInt8]) throws(XMLScanner.Malformed) {
        var scanner = try XMLScanner(body, root: "ListBucketResult")
        files.reserveCapacity(1_000)
        while let name = try scanner.next() {
            if XMLScanner.equal(name, "Contents") {
                files.append(try Self.file(&scanner))
            } else if XMLScanner.equal(name, "IsTruncated") {
                isTruncated = try scanner.text() == "true"
            } else if XMLScanner.equal(name, "NextContinuationToken") {
                token = try scanner.text()
            } else if XMLScanner.equal(name, "EncodingType") {
                isEncoded = try scanner.text() == "url"
            } else {
                try scanner.skip()
            }
        }
        if isEncoded {
            // A key that is not UTF-8 is nobody's: repaired, it would name another file, or be out of order.
            var readable: [ListedFile] = []
            readable.reserveCapacity(files.count)
            for var file in files {
                guard let key = try Self.decoded(file.key) else { continue }
                file.key = key
                readable.append(file)
            }
            files = readable
        }
        guard !isTruncated || !(token ?? "").isEmpty else {
            throw XMLScanner.Malformed(offset: body.count)
        }
    }

    private static func file(_ scanner: inout XMLScanner) throws(XMLScanner.Malformed) -> ListedFile
    {
        var file = ListedFile(key: "", byteCount: -1, tag: EntityTag(""), modifiedAt: 0)
        var isTimed = false
        while let name = try scanner.next() {
            if XMLScanner.equal(name, "Key") {
                file.key = try scanner.text()
            } else if XMLScanner.equal(name, "Size") {
                file.byteCount = Int64(try scanner.text()) ?? -1
            } else if XMLScanner.equal(name, "ETag") {
                file.tag = EntityTag(try scanner.text())
            } else if XMLScanner.equal(name, "LastModified") {
                if let time = AnswerTime.element(try scanner.text()) {
                    file.modifiedAt = time
                    isTimed = true
                }
            } else {
                try scanner.skip()
            }
        }
        guard !file.key.isEmpty, file.byteCount >= 0, isTimed else {
            throw XMLScanner.Malformed(offset: 0)
        }
        return file
    }

    /// A key as `encoding-type=url` spells it: blanks may be plus signs; nil if it is not UTF-8.
    static func decoded(_ key: String) throws(XMLScanner.Malformed) -> String? {
        let plus = UInt8(ascii: "+")
        let bytes = key.utf8.map { $0 == plus ? UInt8(ascii: " ") : $0 }
        guard let decoded = PercentEncoding.decoded(bytes) else {
            throw XMLScanner.Malformed(offset: 0)
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
