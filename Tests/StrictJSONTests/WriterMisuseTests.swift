// Mistakes of programmers stop the program before a wrong text gets anywhere.

import StrictJSON
import Testing

@Suite struct WriterMisuseTests {
    @Test func `a second value stops the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.null()
            writer.null()
        }
    }

    @Test func `a value without a key stops the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.beginObject()
            writer.null()
        }
    }

    @Test func `a key outside an object stops the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.key("a")
        }
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.beginArray()
            writer.key("a")
        }
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("a")
            writer.key("b")
        }
    }

    @Test func `an end that does not match its beginning stops the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.beginArray()
            writer.endObject()
        }
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("a")
            writer.endObject()
        }
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.endArray()
        }
    }

    @Test func `bytes that are not UTF-8 stop the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.string(utf8: [0x61, 0xC3])
        }
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.string(utf8: [0xED, 0xA0, 0x80])
        }
    }

    @Test func `a number with a bad spelling stops the program`() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.value(.number("1,2"))
        }
        await #expect(processExitsWith: .failure) {
            var writer = JSONWriter()
            writer.value(.number("NaN"))
        }
    }
}
