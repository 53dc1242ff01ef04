import HotPush

@testable import CurlTransport

// The head of an origin's answer, line by line.

extension FuzzTarget {
    static let responses = FuzzTarget(
        name: "responses",
        words: [
            "HTTP/1.1 200 OK\r\n", "HTTP/2 206\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "\r\n", "\n",
            "\r\n ",
            "ETag: \"", "Content-Range: bytes ", "Retry-After: ", "Content-Length: ",
        ]
    ) { input in
        var reader = HeadReader()
        var line: [UInt8] = []
        for byte in input {
            line.append(byte)
            guard byte == 10 else { continue }
            let progress = line.withUnsafeBytes { reader.read($0) }
            line.removeAll(keepingCapacity: true)
            guard case .whole(let status, let fields) = progress else {
                if case .malformed(let sentence) = progress {
                    try hold(!sentence.isEmpty, "a refusal without a sentence")
                    return
                }
                continue
            }
            try hold((200...999).contains(status), "the status \(status)")
            for (name, value) in fields {
                let isLower = !name.utf8.contains { (65...90).contains($0) }
                try hold(!name.isEmpty && isLower, "the name \(name)")
                try hold(!value.utf8.contains(10), "a value over two lines")
            }
            let head = TransferHead(status: status, fields: fields, url: "https://example.org/")
            _ = Validator(head)
            return
        }
    }
}
