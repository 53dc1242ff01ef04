import Platform

/// An answer in parts: `multipart/mixed` (RFC 2046, section 5.1.3).
struct ExpoParts {
    /// What stands between the parts: from the address of a document, which no document can contain.
    let boundary: String
    /// The parts, with a line end also after the last delimiter: without it the reader on iOS finds no part.
    let body: [UInt8]

    /// Puts a document into a part; the document's bytes stay as they were signed.
    init(_ document: [UInt8], named name: String, signature: String?, boundary address: ObjectID) {
        boundary = "castree-\(address.description.prefix(32))"
        var body: [UInt8] = []
        func line(_ text: String) { body += Array((text + "\r\n").utf8) }
        line("--\(boundary)")
        line("content-disposition: form-data; name=\"\(name)\"")
        line("content-type: application/json; charset=utf-8")
        if let signature { line("expo-signature: \(signature)") }
        line("")
        body += document
        line("")
        if name == "manifest" {
            line("--\(boundary)")
            line("content-disposition: form-data; name=\"extensions\"")
            line("content-type: application/json")
            line("")
            line("{\"assetRequestHeaders\":{}}")
        }
        line("--\(boundary)--")
        self.body = body
    }
}
