@testable import ServeFromCAS

extension RequestHead {
    /// A well-formed head of these parts.
    init(
        _ method: Method, _ target: String, version: Int = 1, _ fields: [(String, String)]
    ) {
        var bytes = Array(target.utf8)
        let pathEnd = bytes.firstIndex(of: 63) ?? bytes.count
        let query = pathEnd < bytes.count ? pathEnd + 1..<bytes.count : nil
        var slices: [Field] = []
        for (name, value) in fields {
            let start = bytes.count
            bytes += Array(name.utf8)
            let middle = bytes.count
            bytes += Array(value.utf8)
            slices.append(Field(name: start..<middle, value: middle..<bytes.count))
        }
        self.init(
            bytes: bytes, method: method, path: 0..<pathEnd, query: query, authority: nil,
            minorVersion: version, fields: slices)
    }
}
