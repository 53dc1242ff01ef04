// The verbs of the reader, one value after the other, as a decoder calls them.

import Expectations

@Suite struct PullTests {
    @Test func `reads a value of every type where it is due`() throws {
        var reader = try makeReader(#" {"s": "x", "n": 7, "b": true, "z": null, "a": [1, 2]} "#)
        try expect(reader.peekKind(), equals: .object)
        try reader.enterObject()
        try expect(reader.nextKey(), equals: "s")
        try expect(reader.peekKind(), equals: .string)
        try expect(reader.readString(), equals: "x")
        try expect(reader.nextKey(), equals: "n")
        try expect(reader.peekKind(), equals: .number)
        try expect(reader.readInteger(), equals: 7)
        try expect(reader.nextKey(), equals: "b")
        try expect(reader.peekKind(), equals: .bool)
        try expect(reader.readBool())
        try expect(reader.nextKey(), equals: "z")
        try expect(reader.peekKind(), equals: .null)
        try reader.readNull()
        try expect(reader.nextKey(), equals: "a")
        try expect(reader.peekKind(), equals: .array)
        try reader.enterArray()
        try expect(reader.nextElement())
        try expect(reader.readInteger(), equals: 1)
        try expect(reader.nextElement())
        try expect(reader.readInteger(), equals: 2)
        try expect(!reader.nextElement())
        try expect(reader.nextKey() == nil)
        try reader.finish()
        try reader.finish()
    }

    @Test func `the offset is that of the value that is due`() throws {
        var reader = try makeReader("  { \"k\" :  [ 1 , 2 ] }")
        expect(reader.offset, equals: 2)
        try reader.enterObject()
        _ = try reader.nextKey()
        expect(reader.offset, equals: 11)
        try reader.enterArray()
        _ = try reader.nextElement()
        expect(reader.offset, equals: 13)
        _ = try reader.readInteger()
        _ = try reader.nextElement()
        expect(reader.offset, equals: 17)
    }

    @Test func `appends the bytes of a string to those already there`() throws {
        var reader = try makeReader(#"["é", "\u00e9", ""]"#)
        var decoded = Array("x".utf8)
        try reader.enterArray()
        while try reader.nextElement() { try reader.readStringBytes(appendingTo: &decoded) }
        expect(decoded, equals: Array("xéé".utf8))
    }

    @Test func `a refused string leaves the target as it was`() throws {
        var reader = try makeReader(#""abc\q""#)
        var decoded = Array("x".utf8)
        let error = refusal { () throws(JSONError) in
            try reader.readStringBytes(appendingTo: &decoded)
        }
        expect(error?.reason, equals: .invalidString)
        expect(decoded, equals: Array("x".utf8))
    }

    @Test func `skips a value and continues behind it`() throws {
        for skipped in ["1.5e3", "\"]\\\"\"", "{\"a\":[{}]}", "[[],[[]]]", "null", "[]", "{}"] {
            var reader = try makeReader("[\(skipped) , 5]")
            try reader.enterArray()
            _ = try reader.nextElement()
            try reader.skipValue()
            try expect(reader.nextElement())
            try expect(reader.readInteger(), equals: 5)
            try expect(!reader.nextElement())
            try reader.finish()
        }
    }

    @Test func `reads a tree in the middle of a text`() throws {
        var reader = try makeReader(#"{"a": {"b": [1]}, "c": 2}"#)
        try reader.enterObject()
        _ = try reader.nextKey()
        try expect(reader.readValue()["b"], equals: .array([.integer(1)]))
        try expect(reader.nextKey(), equals: "c")
        try expect(reader.readInteger(), equals: 2)
        try expect(reader.nextKey() == nil)
    }

    @Test func `the wrong type is an error that leaves the reader where it was`() throws {
        let texts: [(JSONReader.Kind, String)] = [
            (.object, "{}"), (.array, "[]"), (.string, "\"\""), (.number, "1"), (.bool, "true"),
            (.null, "null"),
        ]
        for (kind, text) in texts {
            for other in JSONReader.Kind.allCases where other != kind {
                var reader = try makeReader(" " + text)
                let error = refusal { () throws(JSONError) in try read(other, from: &reader) }
                expect(error?.reason, equals: .wrongType, "\(kind) read as \(other)")
                expect(error?.offset, equals: 1)
                try reader.skipValue()
                try reader.finish()
            }
        }
    }

    @Test(arguments: JSONReader.Kind.allCases)
    func `where no value begins, the text is wrong and not the type`(kind: JSONReader.Kind) throws {
        let texts: [(String, JSONError.Reason)] = [
            (" ", .unexpectedEnd), (" x", .unexpectedByte), (" ]", .unexpectedByte),
            (" +1", .invalidNumber), (" 'x'", .unexpectedByte),
        ]
        for (text, reason) in texts {
            var reader = try makeReader(text)
            let error = refusal { () throws(JSONError) in try read(kind, from: &reader) }
            expect(error?.reason, equals: reason, "\(text)")
            expect(error?.offset, equals: 1)
        }
    }

    @Test func `an error is thrown again by every later verb`() throws {
        var reader = try makeReader("[1,]")
        try reader.enterArray()
        _ = try reader.nextElement()
        _ = try reader.readInteger()
        var errors: [JSONError] = []
        for _ in 1...2 {
            do { _ = try reader.nextElement() } catch { errors.append(error) }
            do { _ = try reader.nextKey() } catch { errors.append(error) }
            do { _ = try reader.peekKind() } catch { errors.append(error) }
            do { try reader.skipValue() } catch { errors.append(error) }
            do { try reader.finish() } catch { errors.append(error) }
            for kind in JSONReader.Kind.allCases {
                do { try read(kind, from: &reader) } catch { errors.append(error) }
            }
        }
        expect(errors.count, equals: 22)
        expect(Set(errors).count, equals: 1)
    }

    @Test func `a verb where it cannot stand is a programmer's mistake`() async {
        await #expect(processExitsWith: .failure) {
            var reader = try makeReader("[1]")
            try reader.enterArray()
            _ = try reader.readInteger()
        }
        await #expect(processExitsWith: .failure) {
            var reader = try makeReader("[1]")
            try reader.enterArray()
            _ = try reader.nextKey()
        }
        await #expect(processExitsWith: .failure) {
            var reader = try makeReader("{}")
            try reader.finish()
        }
    }

    private func read(_ kind: JSONReader.Kind, from reader: inout JSONReader) throws(JSONError) {
        switch kind {
        case .object: try reader.enterObject()
        case .array: try reader.enterArray()
        case .string: _ = try reader.readString()
        case .number: _ = try reader.readInteger()
        case .bool: _ = try reader.readBool()
        case .null: try reader.readNull()
        }
    }
}
