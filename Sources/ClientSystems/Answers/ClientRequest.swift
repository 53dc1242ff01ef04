/// A request of a client, as a decider reads it.
package struct ClientRequest: Sendable, Hashable {
    /// The method: `GET`, `HEAD`, `POST`.
    package var method: String
    /// The target without its query, as it was sent: percent-encoded, beginning with a slash.
    package var path: String
    /// What follows the first question mark, as it was sent; `nil` without one.
    package var query: String?
    /// The fields in their order; names lower-case, values without white space around them.
    package var fields: [Field]
    /// The body.
    package var body: [UInt8]

    /// A field.
    package struct Field: Sendable, Hashable {
        /// The name, lower-case.
        package var name: String
        /// The value.
        package var value: String

        /// Makes a field.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Makes a request.
    package init(
        _ method: String = "GET", _ path: String, query: String? = nil, fields: [Field] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
    }
}
