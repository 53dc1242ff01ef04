// Durations and sizes as people write them.

extension Invocation {
    /// The value of a duration option (`500ms`, `20s`, `1h30m`); nil if it was not given.
    /// - Throws: `usage` for anything else, for zero, and for more than a day.
    package func duration(_ name: String) throws(CommandError) -> Duration? {
        guard let text = try value(name) else { return nil }
        if let time = Self.milliseconds(text), (1...86_400_000).contains(time) {
            return .milliseconds(time)
        }
        throw .usage(
            "--\(name) takes a time up to a day, as in 20s or 1h30m (units \(Self.unitsOfTime)); not '\(text)'"
        )
    }

    /// The value of a duration option in seconds (`90s`, `24h`, `3w`, `1d 12h`); nil if it was not given.
    /// - Throws: `usage` for anything else.
    package func seconds(_ name: String) throws(CommandError) -> Int64? {
        guard let text = try value(name) else { return nil }
        if let seconds = Self.seconds(text) { return seconds }
        throw .usage(
            "--\(name) takes a time with its unit, as in 90s, 1h30m or 3w (units "
                + "\(Self.unitsOfSeconds)); not '\(text)'")
    }

    package static func seconds(_ text: String) -> Int64? {
        guard let time = milliseconds(text), time % 1000 == 0 else { return nil }
        return time / 1000
    }

    /// Names of units with their milliseconds; weeks are the longest that have one length.
    private static let timeUnits: [(names: [String], milliseconds: Int64)] = [
        (["ms"], 1), (["s", "sec", "second", "seconds"], 1000),
        (["m", "min", "minute", "minutes"], 60_000), (["h", "hour", "hours"], 3_600_000),
        (["d", "day", "days"], 86_400_000), (["w", "week", "weeks"], 604_800_000),
    ]

    static let unitsOfTime = timeUnits.map { $0.names[0] }.joined(separator: ", ")

    static let unitsOfSeconds = timeUnits.filter { $0.milliseconds >= 1000 }
        .map { $0.names[0] }.joined(separator: ", ")

    /// Parses whole numbers with units, with or without spaces; nil for anything else.
    static func milliseconds(_ text: String) -> Int64? {
        var rest = text.utf8[...]
        var sum: Int64 = 0
        repeat {
            let digits = rest.prefix { isDigit($0) }
            let blanks = rest[digits.endIndex...].prefix { $0 == UInt8(ascii: " ") }
            let name = rest[blanks.endIndex...].prefix { !isDigit($0) && $0 != UInt8(ascii: " ") }
            guard let number = Int64(Substring(digits)),
                let unit = timeUnits.first(where: { $0.names.contains(String(Substring(name))) })
            else { return nil }
            let (product, isLarge) = number.multipliedReportingOverflow(by: unit.milliseconds)
            let (total, isLarger) = sum.addingReportingOverflow(product)
            guard !isLarge, !isLarger else { return nil }
            sum = total
            rest = rest[name.endIndex...]
            if rest.count > 1, rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
        } while !rest.isEmpty
        return sum
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    /// The value of a size option (`500`, `64K`, `20GB`, `1.5 GiB`) in bytes; nil if it was not given.
    ///
    /// As in GNU's tools, K and KiB are 1,024, KB is 1,000. Case is ignored.
    /// - Throws: `usage` for anything else, and for zero.
    package func byteCount(_ name: String) throws(CommandError) -> Int64? {
        guard let text = try value(name) else { return nil }
        if let count = Self.byteCount(text) { return count }
        throw .usage(
            "--\(name) takes a number of bytes, as in 512K, 20GB or 1.5 GiB (units K, M, G, T; KB is 1,000 "
                + "and K or KiB 1,024); not '\(text)'")
    }

    static func byteCount(_ text: String) -> Int64? {
        let number = text.utf8.prefix { isDigit($0) || $0 == UInt8(ascii: ".") }
        let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let unit = text.utf8[number.endIndex...].drop { $0 == UInt8(ascii: " ") }
        guard let factor = byteUnit(String(Substring(unit)).lowercased()), parts.count <= 2,
            let whole = Int64(Substring(parts[0]))
        else { return nil }
        var (count, isLarge) = whole.multipliedReportingOverflow(by: factor)
        if parts.count == 2 {
            // Three digits are enough for people, and multiply without leaving 64 bits.
            let digits = String(Substring(parts[1]))
            guard factor > 1, (1...3).contains(digits.utf8.count), let part = Int64(digits) else {
                return nil
            }
            let parts: Int64 = [10, 100, 1000][digits.utf8.count - 1]
            count = count.addingReportingOverflow(part * factor / parts).partialValue
            if count < 0 { isLarge = true }
        }
        return isLarge || count <= 0 ? nil : count
    }

    private static func byteUnit(_ name: String) -> Int64? {
        if ["", "b", "byte", "bytes"].contains(name) { return 1 }
        guard let power = ["k": 1, "m": 2, "g": 3, "t": 4][name.prefix(1)] else { return nil }
        switch name.dropFirst() {
        case "", "ib": return 1 << Int64(10 * power)
        case "b": return (0..<power).reduce(1) { product, _ in product * 1000 }
        default: return nil
        }
    }
}
