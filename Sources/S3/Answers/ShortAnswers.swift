import Storage

/// The answer to DeleteObjects in its quiet form: what was not deleted.
struct DeleteAnswer {
    /// Keys of the bucket, each with its code.
    var errors: [(key: String, code: String)] = []

    init(_ body: [UInt8]) throws(XMLScanner.Malformed) {
        var scanner = try XMLScanner(body, root: "DeleteResult")
        while let name = try scanner.next() {
            guard name == "Error" else {
                try scanner.skip()
                continue
            }
            let texts = try scanner.texts("Key", "Code")
            errors.append((texts["Key"] ?? "", texts["Code"] ?? ""))
        }
    }

    static func request(_ keys: [String]) -> [UInt8] {
        var text = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
        for key in keys { text += "<Object><Key>\(xmlEscaped(key))</Key></Object>" }
        return Array((text + "</Delete>").utf8)
    }
}

/// The documents of uploads in parts.
enum PartsAnswer {
    static func upload(_ body: [UInt8]) throws(XMLScanner.Malformed) -> String {
        var scanner = try XMLScanner(body, root: "InitiateMultipartUploadResult")
        let upload = try scanner.texts("UploadId")["UploadId"] ?? ""
        guard !upload.isEmpty else { throw XMLScanner.Malformed() }
        return upload
    }

    /// Unfinished uploads, by keys of the bucket; those that are not UTF-8 are left out.
    static func openUploads(_ body: [UInt8]) throws(XMLScanner.Malformed) -> [OpenUpload] {
        var uploads: [OpenUpload] = []
        var isEncoded = false
        var scanner = try XMLScanner(body, root: "ListMultipartUploadsResult")
        while let name = try scanner.next() {
            switch name {
            case "Upload": if let upload = try openUpload(&scanner) { uploads.append(upload) }
            case "EncodingType": isEncoded = try scanner.text() == "url"
            default: try scanner.skip()
            }
        }
        return isEncoded ? try ListAnswer.decoded(uploads, \.key) : uploads
    }

    /// - Returns: `nil` for one of unknown age.
    private static func openUpload(
        _ scanner: inout XMLScanner
    ) throws(XMLScanner.Malformed) -> OpenUpload? {
        let texts = try scanner.texts("Key", "UploadId", "Initiated")
        guard let key = texts["Key"], !key.isEmpty, let name = texts["UploadId"], !name.isEmpty,
            let begunAt = texts["Initiated"].flatMap(AnswerTime.element)
        else { return nil }
        return OpenUpload(key: key, name: name, begunAt: begunAt)
    }

    static func completion(_ tags: [EntityTag]) -> [UInt8] {
        var text =
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for (index, tag) in tags.enumerated() {
            text += "<Part><PartNumber>\(index + 1)</PartNumber>"
            text += "<ETag>\(xmlEscaped(tag.quoted))</ETag></Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }
}
