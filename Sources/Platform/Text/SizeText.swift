/// A byte count for people, in binary units with one decimal: "12.3 MiB".
package func sizeText(_ byteCount: some BinaryInteger) -> String {
    let sign = byteCount < 0 ? "-" : ""
    let magnitude = UInt64(clamping: byteCount.magnitude)
    guard magnitude >= 1024 else { return "\(sign)\(magnitude) B" }
    var unit: UInt64 = 1024
    for name in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        let tenths = tenths(of: magnitude, in: unit)
        // 1023.95 KiB would round to 1024.0 KiB, which is 1.0 MiB.
        if tenths < 10240 { return "\(sign)\(tenths / 10).\(tenths % 10) \(name)" }
        unit *= 1024
    }
    let tenths = tenths(of: magnitude, in: unit)
    return "\(sign)\(tenths / 10).\(tenths % 10) EiB"
}

/// Rounds half up, without leaving 64 bits: the remainder is less than 2^60.
private func tenths(of count: UInt64, in unit: UInt64) -> UInt64 {
    count / unit * 10 + (count % unit * 10 + unit / 2) / unit
}

/// A count with separators between thousands: "12,345".
package func groupedCount(_ count: some BinaryInteger) -> String {
    let digits = Array(String(count.magnitude))
    var text = count < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
        if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
        text.append(digit)
    }
    return text
}

/// A count and its noun: "1 file", "12,345 files".
package func counted(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(groupedCount(count)) \(noun)\(count == 1 ? "" : "s")"
}
