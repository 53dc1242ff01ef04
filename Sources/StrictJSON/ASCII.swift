// The bytes that RFC 8259 names, and the hexadecimal digits.

enum ASCII {
    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let minus = UInt8(ascii: "-")
    static let plus = UInt8(ascii: "+")
    static let period = UInt8(ascii: ".")
    static let zero = UInt8(ascii: "0")
    static let nine = UInt8(ascii: "9")
    static let openBracket = UInt8(ascii: "[")
    static let closeBracket = UInt8(ascii: "]")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")
}

extension UInt8 {
    var isDigit: Bool { self >= ASCII.zero && self <= ASCII.nine }

    /// RFC 8259 §2: space, tab, line feed and carriage return, and nothing else.
    var isJSONSpace: Bool {
        self == ASCII.space || self == ASCII.lineFeed || self == ASCII.carriageReturn
            || self == ASCII.tab
    }

    /// Accepts either case.
    var hexValue: UInt32? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(self) - 0x61 + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(self) - 0x41 + 10
        default: nil
        }
    }

    /// The lower-case digit for the low four bits.
    init(hexDigit value: UInt32) {
        let low = UInt8(value & 0xF)
        self = low < 10 ? ASCII.zero + low : UInt8(ascii: "a") + low - 10
    }
}

enum JSONContainer {
    case object, array
}
