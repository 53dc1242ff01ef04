/// How sizes are printed.
public enum SizeStyle: Hashable, Sendable {
    /// In binary units with one decimal: "12.3 MiB".
    case binary
    /// As the exact count of bytes: "12897485 B".
    case exact

    /// Returns a count of bytes as text.
    public func text(_ byteCount: some BinaryInteger) -> String {
        let sign = byteCount < 0 ? "-" : ""
        let magnitude = UInt64(clamping: byteCount.magnitude)
        guard self == .binary, magnitude >= 1024 else { return "\(sign)\(magnitude) B" }
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
}

/// Returns a count with separators between thousands: "12,345".
public func groupedCount(_ count: some BinaryInteger) -> String {
    let digits = Array(String(count.magnitude))
    var text = count < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
        if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
        text.append(digit)
    }
    return text
}

/// Returns a count and its noun: "1 file", "12,345 files".
public func counted(
    _ count: some BinaryInteger, _ noun: String, _ plural: String? = nil
) -> String {
    "\(groupedCount(count)) \(count == 1 ? noun : plural ?? noun + "s")"
}

extension Duration {
    /// The duration in its largest units: "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
    public var displayed: String {
        let (whole, attoseconds) = components
        guard whole >= 0, attoseconds >= 0 else { return "0.0 s" }
        if whole < 10 { return "\(whole).\(attoseconds / 100_000_000_000_000_000) s" }
        if whole < 60 { return "\(whole) s" }
        let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400)
        if hours == 0 { return "\(minutes) min \(whole % 60) s" }
        if days == 0 { return "\(hours) h \(minutes % 60) min" }
        return "\(days) d \(hours % 24) h"
    }
}
