extension AccessRecord {
    /// A log that writes `***` in the place of a secret, which a page's first address has in its query.
    ///
    /// It is masked wherever it stands: also where a person has pasted it.
    static func masking(
        _ secret: String, in log: @escaping @Sendable (AccessRecord) -> Void
    ) -> @Sendable (AccessRecord) -> Void {
        let secret = Array(secret.utf8)
        return { record in
            var record = record
            record.target = masked(Array(record.target.utf8), secret)
            log(record)
        }
    }

    private static func masked(_ text: [UInt8], _ secret: [UInt8]) -> String {
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            if text[position...].starts(with: secret) {
                result += Array("***".utf8)
                position += secret.count
            } else {
                result.append(text[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
