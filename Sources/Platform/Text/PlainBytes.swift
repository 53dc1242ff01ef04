extension UInt8 {
    /// Changes ASCII letters only.
    package var lowercased: UInt8 { (65...90).contains(self) ? self | 0x20 : self }

    package var isAlphanumeric: Bool {
        switch self {
        case 48...57, 65...90, 97...122: true
        default: false
        }
    }

    /// Whether it is an ASCII letter or digit or one of `. _ -`.
    package var isPlain: Bool {
        isAlphanumeric || self == 45 || self == 46 || self == 95
    }
}
