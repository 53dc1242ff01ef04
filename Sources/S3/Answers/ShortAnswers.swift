import Storage

/// The answer to DeleteObjects, in its quiet form: what was not deleted.
struct DeleteAnswer {
    /// Keys of the bucket, and the code of each.
    var errors: [(key: String, code: String)] = []

    init(_ body: [UInt8]) throws(XMLScanner.Malformed) {
        var scanner = try XMLScanner(body, root: "DeleteResult")
        while let name = try scanner.next() {
            guard XMLScanner.equal(name, "Error") else {
                try scanner.skip()
                continue
            }
            var (key, code) = ("", "")
            while let name = try scanner.next() {
                if XMLScanner.equal(name, "Key") {
                    key = try scanner.text()
                } else if XMLScanner.equal(name, "Code") {
                    code = try scanner.text()
                } else {
                    try scanner.skip()
                }
            }
            errors.append((key, code))
        }
    }

    /// The request's document.
    static func request(_ keys: [String]) -> [UInt8] {
        var text = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
        for key in keys { text += "<Object><Key>\(xmlEscaped(key))</Key></Object>" }
        return Array((text + "</Delete>").utf8)
    }
}

/// The documents of uploads in parts.
enum PartsAnswer {
    /// The name of a new upload.
    static func upload(_ body: [UInt8]) throws(XMLScanner.Malformed) -> String {
        var upload = ""
        var scanner = try XMLScanner(body, root: "InitiateMultipartUploadResult")
        while let name = try scanner.next() {
            if XMLScanner.equal(name, "UploadId") {
                upload = try scanner.text()
            } else {
                try scanner.skip()
            }
        }
        guard !upload.isEmpty else { throw XMLScanner.Malformed(offset: body.count) }
        return upload
    }

    /// Uploads that have not ended, by keys of the bucket; without those whose keys are not UTF-8.
    static func openUploads(_ body: [UInt8]) throws(XMLScanner.Malformed) -> [OpenUpload] {
        var uploads: [OpenUpload] = []
        var isEncoded = false
        var scanner = try XMLScanner(body, root: "ListMultipartUploadsResult")
        while let name = try scanner.next() {
            if XMLScanner.equal(name, "Upload") {
                if let upload = try openUpload(&scanner) { uploads.append(upload) }
            } else if XMLScanner.equal(name, "EncodingType") {
                isEncoded = try scanner.text() == "url"
            } else {
                try scanner.skip()
            }
        }
        guard isEncoded else { return uploads }
        var readable: [OpenUpload] = []
        for var upload in uploads {
            guard let key = try ListAnswer.decoded(upload.key) else { continue }
            upload.key = key
            readable.append(upload)
        }
        return readable
    }

    /// - Returns: `nil` for one of which nobody can tell the age.
    private static func openUpload(
        _ scanner: inout XMLScanner
    ) throws(XMLScanner.Malformed) -> OpenUpload? {
        var upload = OpenUpload(key: "", name: "", begunAt: 0)
        var isTimed = false
        while let name = try scanner.next() {
            if XMLScanner.equal(name, "Key") {
                upload.key = try scanner.text()
            } else if XMLScanner.equal(name, "UploadId") {
                upload.name = try scanner.text()
            } else if XMLScanner.equal(name, "Initiated") {
                if let time = AnswerTime.element(try scanner.text()) {
                    upload.begunAt = time
                    isTimed = true
                }
            } else {
                try scanner.skip()
            }
        }
        return isTimed && !upload.key.isEmpty && !upload.name.isEmpty ? upload : nil
    }

    /// What completes an upload.
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
