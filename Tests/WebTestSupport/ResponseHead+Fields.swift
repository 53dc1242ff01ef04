package import WebServer

extension ResponseHead {
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    package var fields: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        for line in bytes.split(separator: 10).dropFirst() {
            let text = line.last == 13 ? line.dropLast() : line
            guard let colon = text.firstIndex(of: 58) else { continue }
            let value = text[text.index(after: colon)...].drop { $0 == 32 }
            result.append(
                (
                    String(decoding: text[..<colon], as: UTF8.self),
                    String(decoding: value, as: UTF8.self)
                ))
        }
        return result
    }
}
