// Whole members of an object, key and value, as every document needs them.

extension JSONWriter {
    /// Writes a member with a string, or null.
    package mutating func member(_ key: String, _ value: String?) {
        self.key(key)
        if let value { string(value) } else { null() }
    }

    /// Writes a member with a whole number.
    package mutating func member(_ key: String, _ value: some BinaryInteger) {
        self.key(key)
        integer(value)
    }

    /// Writes a member with true or false.
    package mutating func member(_ key: String, _ value: Bool) {
        self.key(key)
        bool(value)
    }

    /// Writes a member with an array of strings.
    package mutating func member(_ key: String, _ values: [String]) {
        self.key(key)
        array(values) { writer, value in writer.string(value) }
    }

    /// Writes a member with an array of objects, the members of each by the closure.
    package mutating func member<Elements: Sequence>(
        _ key: String, _ elements: Elements,
        _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        self.key(key)
        try objects(elements, write)
    }

    /// Writes a member with an object, its members by the closure.
    package mutating func member(
        _ key: String, _ write: (inout JSONWriter) throws -> Void
    ) rethrows {
        self.key(key)
        try object(write)
    }

    /// Writes a member with an object made of the value, its members by the closure, or null.
    package mutating func member<Value>(
        _ key: String, orNull value: Value?, _ write: (inout JSONWriter, Value) throws -> Void
    ) rethrows {
        self.key(key)
        if let value { try object { try write(&$0, value) } } else { null() }
    }

    /// Writes an array of objects, the members of each by the closure.
    package mutating func objects<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        try array(elements) { writer, element in try writer.object { try write(&$0, element) } }
    }

    /// Writes an array, each element by the closure.
    package mutating func array<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        beginArray()
        for element in elements { try write(&self, element) }
        endArray()
    }

    /// Returns a document that is an object, its members written by the closure.
    package static func document(_ write: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
        var writer = JSONWriter()
        try writer.object(write)
        return writer.drain()
    }

    /// Writes an object, its members by the closure.
    package mutating func object(_ write: (inout JSONWriter) throws -> Void) rethrows {
        beginObject()
        try write(&self)
        endObject()
    }
}
