@testable import CASStore
@testable import HotPush
@testable import ServeFromCAS
@testable import WebServer

// Values of header fields, of requests and of responses.

extension FuzzTarget {
    /// Reads the ranges of a representation of so many bytes.
    typealias RangeReading = @Sendable (ArraySlice<UInt8>, Int64) -> ByteRanges

    static let fields = fields { ByteRanges($0, size: $1) }

    private static let fieldWords = [
        "bytes=", "bytes ", "-", ",", "/", "*", "W/\"", "\"", "br", "gzip", "zstd", "identity",
        ";q=0.5",
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994", "%2e%2e%2f", "%00",
    ]

    static func fields(_ reading: @escaping RangeReading) -> FuzzTarget {
        FuzzTarget(name: "fields", words: fieldWords) { try checkFields($0, reading) }
    }

    private static func checkFields(_ input: [UInt8], _ reading: RangeReading) throws {
        try ranges(input, reading)
        try contentRange(input)
        try tags(input)
        try dates(input)
        let accepted = AcceptEncoding(input[...])
        for weight in ContentCoding.allCases.map({ accepted[$0] }) {
            try hold((0...1000).contains(weight), "a weight of \(weight) thousandths")
        }
        if case .bytes(let path) = DecodedPath(input[...]) {
            try hold(path.count <= input.count && !path.contains(0), "a path of other bytes")
        }
    }

    /// Every range lies within the representation, and no request makes the answer much larger.
    private static func ranges(_ input: [UInt8], _ reading: RangeReading) throws {
        for size: Int64 in [0, 1, 1000, .max] {
            guard case .ranges(let ranges) = reading(input[...], size) else { continue }
            try hold(
                !ranges.isEmpty && ranges.count <= ByteRanges.countMax, "\(ranges.count) ranges")
            for range in ranges {
                try hold(
                    !range.isEmpty && range.lowerBound >= 0 && range.upperBound <= size,
                    "\(range) of \(size) bytes")
            }
        }
    }

    private static func contentRange(_ input: [UInt8]) throws {
        guard let field = ContentRange(String(decoding: input, as: UTF8.self)) else { return }
        if let bytes = field.bytes {
            try hold(!bytes.isEmpty && bytes.lowerBound >= 0, "the bytes \(bytes)")
            try hold(bytes.upperBound <= field.total ?? .max, "\(bytes) of \(field.total ?? 0)")
        }
        try hold(field.total ?? 0 >= 0, "a total of \(field.total ?? 0)")
    }

    /// Only the tag itself is the tag, whatever stands around it.
    private static func tags(_ input: [UInt8]) throws {
        let tag = Array("\"a1\"".utf8)
        let isStrong = EntityTagList.matches(input[...], tag, .strong)
        let isWeak = EntityTagList.matches(input[...], tag, .weak)
        try hold(isWeak || !isStrong, "a strong match that is no weak one")
        let isThere =
            input.contains(42) || input.indices.contains { input[$0...].starts(with: tag) }
        try hold(isThere || !isWeak, "a tag that is not there")
    }

    private static func dates(_ input: [UInt8]) throws {
        let now = HTTPDate(seconds: 1_700_000_000)
        guard let date = HTTPDate(input, now: now) else { return }
        let again = HTTPDate(date.text, now: now)
        try hold(again?.seconds == date.seconds, "\(date.text) is read as another date")
        let delay = RetryAfter.delay(String(decoding: input, as: UTF8.self), now: now.seconds)
        try hold(delay ?? .zero >= .zero, "a wait of \(delay ?? .zero)")
    }
}
