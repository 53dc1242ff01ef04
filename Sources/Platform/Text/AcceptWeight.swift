/// The weight in `q=0.5`, in thousandths; `nil` if it is malformed.
///
/// It has at most three digits after the point, and is not above 1 (RFC 9110, section 12.4.2).
package func acceptWeight(_ text: some Collection<UInt8>) -> Int? {
    let digits = Array(text)
    guard (1...5).contains(digits.count), digits[0] == 48 || digits[0] == 49,
        digits.count == 1 || digits[1] == 46
    else { return nil }
    var result = Int(digits[0] - 48) * 1000
    var unit = 100
    for byte in digits.dropFirst(2) {
        guard byte >= 48, byte <= 57 else { return nil }
        result += Int(byte - 48) * unit
        unit /= 10
    }
    return result <= 1000 ? result : nil
}
