package import Platform

/// The fields of a head that belong to an object: ETag, its address, and perhaps Content-Length.
///
/// No optionals: heads are copied for each request, and plain words are cheap to copy.
package struct ObjectFields: Sendable {
    /// ``ObjectID/zero`` if there are no such fields.
    var address: ObjectID
    /// -1 if the head has no Content-Length.
    var length: Int64

    package init(address: ObjectID, length: Int64) {
        self.address = address
        self.length = length
    }

    static let none = ObjectFields(address: .zero, length: -1)
    var isEmpty: Bool { address == .zero }

    /// The most bytes they take: two names, 64 digits in quotes, 19 digits, two line ends.
    static let byteCountMax = 128

    /// Writes the fields to `target`, which has space for ``byteCountMax`` bytes.
    /// - Returns: how many bytes they take.
    func write(to target: UnsafeMutablePointer<UInt8>) -> Int {
        var end = Self.put("ETag: \"", at: target)
        address.writeDigits(to: end)
        end = Self.put("\"\r\n", at: end + 64)
        guard length >= 0 else { return end - target }
        end = Self.put("Content-Length: ", at: end)
        var digits = 1
        var rest = UInt64(length)
        var power = rest
        while power >= 10 {
            digits += 1
            power /= 10
        }
        for place in (0..<digits).reversed() {
            end[place] = 48 + UInt8(rest % 10)
            rest /= 10
        }
        end = Self.put("\r\n", at: end + digits)
        return end - target
    }

    @inline(__always)
    private static func put(
        _ text: StaticString, at target: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        target.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        return target + text.utf8CodeUnitCount
    }
}
