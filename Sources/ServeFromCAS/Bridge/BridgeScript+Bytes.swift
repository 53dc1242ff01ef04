// The script as it is served.
extension BridgeScript {
    /// The served bytes: the script without comments, indentation, and spaces and line ends beside punctuation.
    package static let bytes = served(refusing: false)
    package static let refusingBytes = served(refusing: true)

    private static func served(refusing isRefusing: Bool) -> [UInt8] {
        var result: [UInt8] = []
        for line in text.utf8.split(separator: 10) {
            let code = line.drop { $0 == 32 }
            if code.isEmpty || code.starts(with: [47, 47]) { continue }
            let isSwitch = isRefusing && code.elementsEqual("const refuses = false;".utf8)
            appendTightly(isSwitch ? Array("const refuses = true;".utf8) : Array(code), to: &result)
            // No statement ends behind these.
            if !",;([{".utf8.contains(result[result.count - 1]) { result.append(10) }
        }
        return result
    }

    /// Appends a line; spaces within quotes, between two `+`, and beside `-` and `/`, matter and stay.
    private static func appendTightly(_ code: [UInt8], to result: inout [UInt8]) {
        let punctuation = Array("=<>?:,;{}()[]|&*!+".utf8)
        var quote: UInt8?
        for (index, byte) in code.enumerated() {
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == 39 || byte == 96 {
                quote = byte
            } else if byte == 32 {
                let around = [index - 1, index + 1].filter(code.indices.contains).map { code[$0] }
                if around != [43, 43], around.contains(where: punctuation.contains) { continue }
            }
            result.append(byte)
        }
    }
}
