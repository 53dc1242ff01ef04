// Whole members of an object, key and value.

extension JSONWriter {
    package mutating func member(_ key: String, _ value: String?) {
        self.key(key)
        if let value { string(value) } else { null() }
    }

    package mutating func member(_ key: String, _ value: some BinaryInteger) {
        self.key(key)
        integer(value)
    }

    package mutating func member(_ key: String, _ value: Bool) {
        self.key(key)
        bool(value)
    }

    package mutating func member(_ key: String, _ values: [String]) {
        self.key(key)
        array(values) { writer, value in writer.string(value) }
    }

    /// The closure writes the members of each object.
    package mutating func member<Elements: Sequence>(
        _ key: String, _ elements: Elements,
        _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        self.key(key)
        try objects(elements, write)
    }

    package mutating func member(
        _ key: String, _ write: (inout JSONWriter) throws -> Void
    ) rethrows {
        self.key(key)
        try object(write)
    }

    /// Writes null, or an object whose members the closure writes.
    package mutating func member<Value>(
        _ key: String, orNull value: Value?, _ write: (inout JSONWriter, Value) throws -> Void
    ) rethrows {
        self.key(key)
        if let value { try object { try write(&$0, value) } } else { null() }
    }

    package mutating func objects<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        try array(elements) { writer, element in try writer.object { try write(&$0, element) } }
    }

    package mutating func array<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        beginArray()
        for element in elements { try write(&self, element) }
        endArray()
    }

    package static func document(_ write: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
        var writer = JSONWriter()
        try writer.object(write)
        return writer.drain()
    }

    package mutating func object(_ write: (inout JSONWriter) throws -> Void) rethrows {
        beginObject()
        try write(&self)
        endObject()
    }
}
