import Platform

extension AccessRecord {
    /// A log that replaces a secret, which the query of a page's first address contains, by `***`, wherever it
    /// occurs.
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

    /// A log that replaces the values of these parameters by `***`.
    /// - Parameters:
    ///   - secrets: parameters of requests to the server itself.
    ///   - directory: part of all the server's own paths, wherever their URLs begin.
    ///   - tokens: prefixes of parameter names that any request may have.
    static func masking(
        _ secrets: Set<String>, below directory: String, tokens: [String],
        in log: @escaping @Sendable (AccessRecord) -> Void
    ) -> @Sendable (AccessRecord) -> Void {
        return { record in
            guard let mark = record.target.firstIndex(of: "?") else { return log(record) }
            let own = record.target[..<mark].contains(directory) ? secrets : []
            var record = record
            let query = record.target[record.target.index(after: mark)...]
            let shown = query.split(separator: "&", omittingEmptySubsequences: false).map {
                parameter -> Substring in
                let name = parameter.prefix { $0 != "=" }
                guard name.endIndex < parameter.endIndex, isSecret(name, own, tokens) else {
                    return parameter
                }
                return name + "=***"
            }
            record.target = record.target[...mark] + shown.joined(separator: "&")
            log(record)
        }
    }

    /// Whether a name is a secret's in any spelling: the server reads one, but a client may try another.
    private static func isSecret(
        _ name: Substring, _ secrets: Set<String>, _ tokens: [String]
    ) -> Bool {
        let decoded = PercentEncoding.decoded(name.utf8) ?? Array(name.utf8)
        let name = String(decoding: decoded, as: UTF8.self).lowercased()
        return secrets.contains(name) || tokens.contains { name.hasPrefix($0) }
    }
}
