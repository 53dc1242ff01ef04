// The verbs of the reader, one value after the other, as a decoder calls them.

import StrictJSON
import Testing

@Suite struct PullTests {
    @Test func `reads a value of every type where it is due`() throws {
        var reader = try makeReader(#" {"s": "x", "n": 7, "b": true, "z": null, "a": [1, 2]} "#)
        #expect(try reader.peekKind() == .object)
        try reader.enterObject()
        #expect(try reader.nextKey() == "s")
        #expect(try reader.peekKind() == .string)
        #expect(try reader.readString() == "x")
        #expect(try reader.nextKey() == "n")
        #expect(try reader.peekKind() == .number)
        #expect(try reader.readInteger() == 7)
        #expect(try reader.nextKey() == "b")
        #expect(try reader.peekKind() == .bool)
        #expect(try reader.readBool())
        #expect(try reader.nextKey() == "z")
        #expect(try reader.peekKind() == .null)
        try reader.readNull()
        #expect(try reader.nextKey() == "a")
        #expect(try reader.peekKind() == .array)
        try reader.enterArray()
        #expect(try reader.nextElement())
        #expect(try reader.readInteger() == 1)
        #expect(try reader.nextElement())
        #expect(try reader.readInteger() == 2)
        #expect(try !reader.nextElement())
        #expect(try reader.nextKey() == nil)
        try reader.finish()
        try reader.finish()
    }

    @Test func `the offset is that of the value that is due`() throws {
        var reader = try makeReader("  { \"k\" :  [ 1 , 2 ] }")
        #expect(reader.offset == 2)
        try reader.enterObject()
        _ = try reader.nextKey()
        #expect(reader.offset == 11)
        try reader.enterArray()
        _ = try reader.nextElement()
        #expect(reader.offset == 13)
        _ = try reader.readInteger()
        _ = try reader.nextElement()
        #expect(reader.offset == 17)
    }

    @Test func `appends the bytes of a string to those already there`() throws {
        var reader = try makeReader(#"["é", "\u00e9", ""]"#)
        var decoded = Array("x".utf8)
        try reader.enterArray()
        while try reader.nextElement() { try reader.readStringBytes(appendingTo: &decoded) }
        #expect(decoded == Array("xéé".utf8))
    }

    @Test func `a refused string leaves the target as it was`() throws {
        var reader = try makeReader(#""abc\q""#)
        var decoded = Array("x".utf8)
        do {
            try reader.readStringBytes(appendingTo: &decoded)
            Issue.record("A bad escape was read.")
        } catch {
            #expect(error.reason == .invalidString)
        }
        #expect(decoded == Array("x".utf8))
    }

    @Test func `skips a value and goes on behind it`() throws {
        for skipped in ["1.5e3", "\"]\\\"\"", "{\"a\":[{}]}", "[[],[[]]]", "null", "[]", "{}"] {
            var reader = try makeReader("[\(skipped) , 5]")
            try reader.enterArray()
            _ = try reader.nextElement()
            try reader.skipValue()
            #expect(try reader.nextElement())
            #expect(try reader.readInteger() == 5)
            #expect(try !reader.nextElement())
            try reader.finish()
        }
    }

    @Test func `reads a tree in the middle of a text`() throws {
        var reader = try makeReader(#"{"a": {"b": [1]}, "c": 2}"#)
        try reader.enterObject()
        _ = try reader.nextKey()
        let value = try reader.readValue()
        #expect(value["b"] == .array([.integer(1)]))
        #expect(try reader.nextKey() == "c")
        #expect(try reader.readInteger() == 2)
        #expect(try reader.nextKey() == nil)
    }

    @Test func `the wrong type is an error that leaves the reader where it was`() throws {
        let texts: [(JSONReader.Kind, String)] = [
            (.object, "{}"), (.array, "[]"), (.string, "\"\""), (.number, "1"), (.bool, "true"),
            (.null, "null"),
        ]
        for (kind, text) in texts {
            for other in JSONReader.Kind.allCases where other != kind {
                var reader = try makeReader(" " + text)
                do {
                    try read(other, from: &reader)
                    Issue.record("\(kind) was read as \(other).")
                } catch {
                    #expect(error.reason == .wrongType)
                    #expect(error.offset == 1)
                }
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
            do {
                try read(kind, from: &reader)
                Issue.record("\(text) was read as \(kind).")
            } catch {
                #expect(error.reason == reason)
                #expect(error.offset == 1)
            }
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
        #expect(errors.count == 22)
        #expect(Set(errors).count == 1)
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

    private func read(
        _ kind: JSONReader.Kind, from reader: inout JSONReader
    ) throws(JSONError) {
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
