// Mistakes of programmers stop the program before a wrong text gets anywhere.

import Expectations

@Suite struct WriterMisuseTests {
    enum Misuse: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
        case secondValue = "a second value"
        case noKey = "a value without a key"
        case noObject = "a key outside an object"
        case inArray = "a key in an array"
        case secondKey = "a key after a key"
        case otherEnd = "an end that does not match its beginning"
        case endAfterKey = "an end after a key"
        case noBeginning = "an end without a beginning"
        case halfCharacter = "bytes that are half a character"
        case surrogate = "bytes that are a surrogate"
        case comma = "a number with a comma"
        case noNumber = "a number that is none"

        var testDescription: String { rawValue }

        func commit(_ writer: inout JSONWriter) {
            switch self {
            case .secondValue: for _ in 1...2 { writer.null() }
            case .noKey:
                writer.beginObject()
                writer.null()
            case .noObject: writer.key("a")
            case .inArray:
                writer.beginArray()
                writer.key("a")
            case .secondKey:
                writer.beginObject()
                for key in ["a", "b"] { writer.key(key) }
            case .otherEnd:
                writer.beginArray()
                writer.endObject()
            case .endAfterKey:
                writer.beginObject()
                writer.key("a")
                writer.endObject()
            case .noBeginning: writer.endArray()
            case .halfCharacter: writer.string(utf8: [0x61, 0xC3])
            case .surrogate: writer.string(utf8: [0xED, 0xA0, 0x80])
            case .comma: writer.value(.number("1,2"))
            case .noNumber: writer.value(.number("NaN"))
            }
        }
    }

    @Test(arguments: Misuse.allCases)
    func `a mistake stops the program`(_ misuse: Misuse) async {
        await #expect(processExitsWith: .failure) { [misuse] in
            var writer = JSONWriter()
            misuse.commit(&writer)
        }
    }
}
