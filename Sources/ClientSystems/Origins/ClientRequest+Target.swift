import Platform

extension ClientRequest {
    /// A part of a target as deciders read it: bytes from 0x80 on, which some clients send as they are, become escapes.
    package static func normalized(_ bytes: some Collection<UInt8>) -> String {
        guard bytes.contains(where: { $0 >= 0x80 }) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else {
                text += PercentEncoding.path(of: [byte]).utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
