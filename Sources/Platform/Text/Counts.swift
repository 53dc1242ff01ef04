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
