extension UInt8 {
    /// Whether it is a letter or digit of ASCII.
    package var isAlphanumeric: Bool {
        switch self {
        case 48...57, 65...90, 97...122: true
        default: false
        }
    }

    /// Whether it is a letter or digit of ASCII or one of `. _ -`.
    package var isPlain: Bool {
        isAlphanumeric || self == 45 || self == 46 || self == 95
    }
}
