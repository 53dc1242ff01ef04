package import Platform
package import Storage

// Abandoned uploads in parts, which a killed process could not end.
extension S3Storage {
    package func openUploads() throws(StoreError) -> OpenUploads? {
        let end = try runner.run(make: {
            var call = S3Call("GET", nil, action: "s3:ListBucketMultipartUploads")
            call.query = [
                ("encoding-type", "url"), ("max-uploads", "1000"), ("prefix", location.key("")),
                ("uploads", ""),
            ]
            call.answerByteCountMax = Self.listByteCountMax
            return call
        })
        let answer = try answer(end)
        switch answer.status {
        case 200: break
        case 400, 404, 405, 501: return nil
        default: throw strange(answer, "a listing of uploads")
        }
        do throws(XMLScanner.Malformed) {
            let start = location.key("")
            let uploads = try PartsAnswer.openUploads(answer.body)
                .filter { $0.key.utf8.starts(with: start.utf8) }
            return OpenUploads(
                uploads.map {
                    OpenUpload(key: relative($0.key), name: $0.name, begunAt: $0.begunAt)
                }, answeredAt: answer.date ?? runner.now)
        } catch { throw strange(answer, "a listing of uploads") }
    }

    package func abort(_ upload: OpenUpload) throws(StoreError) {
        let end = try runner.run(make: { ending(upload.key, upload.name) })
        let answer = try answer(end)
        guard [200, 204, 404].contains(answer.status) else {
            throw strange(answer, "the end of an upload of \(upload.key)")
        }
    }

    func ending(_ key: String, _ upload: String) -> S3Call {
        var call = S3Call("DELETE", location.key(key), action: "s3:AbortMultipartUpload")
        call.query = [("uploadId", upload)]
        return call
    }
}
