extension AccessRecord {
    /// A log that writes `***` in place of a secret, which the query of a page's first address contains.
    ///
    /// It masks the secret wherever it occurs, even where a person has pasted it.
    static func masking(
        _ secret: String, in log: @escaping @Sendable (AccessRecord) -> Void
    ) -> @Sendable (AccessRecord) -> Void {
        let secret = Array(secret.utf8)
        return { record in
            var record = record
            let target = Array(record.target.utf8).replacing(secret, with: Array("***".utf8))
            record.target = String(decoding: target, as: UTF8.self)
            log(record)
        }
    }

    /// A log that writes `***` in place of the bridge's sessions, which are secrets too.
    static func maskingSessions(
        in log: @escaping @Sendable (AccessRecord) -> Void
    ) -> @Sendable (AccessRecord) -> Void {
        let paths = ["/_castree/bridge", "/_castree/confirm"]
        return { record in
            guard let mark = record.target.firstIndex(of: "?"),
                paths.contains(where: { record.target[..<mark].hasSuffix($0) })
            else { return log(record) }
            var record = record
            let query = record.target[record.target.index(after: mark)...]
            let shown = query.split(separator: "&", omittingEmptySubsequences: false).map {
                $0.hasPrefix("session=") ? "session=***" : $0
            }
            record.target = record.target[...mark] + shown.joined(separator: "&")
            log(record)
        }
    }
}
