// How heads are written.
extension [UInt8] {
    mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        bytes.withUnsafeBufferPointer {
            append(contentsOf: UnsafeBufferPointer(rebasing: $0[range]))
        }
    }

    mutating func append(_ text: StaticString) {
        append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ name: StaticString, _ value: some Collection<UInt8>) {
        append(name)
        append(": ")
        append(contentsOf: value)
        append("\r\n")
    }

    mutating func append(_ bytes: Span<UInt8>, _ field: RequestHead.Field) {
        append(bytes, field.name)
        append(": ")
        append(bytes, field.value)
        append("\r\n")
    }
}
