import Platform

/// A host as written in a URL, with or without a port: `kiosk.example`, `[fd00::1]:8080`.
struct URLHost {
    enum Mistake: Error { case port, bracket, name }

    /// A lower-case name, or an address without brackets.
    let host: String
    let written: String
    let port: UInt16?

    init(_ text: some Sequence<UInt8>) throws(Mistake) {
        let text = text.map { FieldText.lowercased($0) }
        var name = text[...]
        let bracket = text.lastIndex(of: 93)
        if let colon = text.lastIndex(of: 58), bracket.map({ $0 < colon }) ?? true {
            let digits = text[(colon + 1)...]
            guard digits.allSatisfy({ $0 >= 48 && $0 <= 57 }),
                let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
            else { throw .port }
            port = number
            name = text[..<colon]
        } else {
            port = nil
        }
        written = String(decoding: name, as: UTF8.self)
        guard name.first == 91 else {
            guard Self.isName(name) else { throw .name }
            host = written
            return
        }
        guard name.last == 93 else { throw .bracket }
        host = String(decoding: name.dropFirst().dropLast(), as: UTF8.self)
        guard SocketAddress(literal: host, port: 0)?.is6 == true else { throw .name }
    }

    private static func isName(_ name: ArraySlice<UInt8>) -> Bool {
        (1...253).contains(name.count) && name.allSatisfy { $0.isPlain && !(65...90).contains($0) }
    }
}
