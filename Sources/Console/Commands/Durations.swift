extension Invocation {
    /// The value of an option that is a time: `500ms`, `20s`, `1m`; nil if it was not given.
    /// - Throws: `usage` for anything else, for zero, and for more than a day.
    package func duration(_ name: String) throws(CommandError) -> Duration? {
        guard let text = try value(name) else { return nil }
        for (unit, milliseconds) in [("ms", 1), ("s", 1000), ("m", 60_000)] {
            guard text.hasSuffix(unit), let number = Int64(text.dropLast(unit.utf8.count)),
                number > 0, number <= 86_400_000 / Int64(milliseconds)
            else { continue }
            return .milliseconds(number * Int64(milliseconds))
        }
        throw .usage(
            "--\(name) takes a whole number and ms, s or m, up to a day, as in 20s; not '\(text)'")
    }

    /// The value of an option that is a time of seconds to years: `90s`, `30m`, `24h`, `7d`; nil if it
    /// was not given.
    /// - Throws: `usage` for anything else.
    package func seconds(_ name: String) throws(CommandError) -> Int64? {
        guard let text = try value(name) else { return nil }
        guard let seconds = Self.seconds(text) else {
            throw .usage("--\(name) takes a number and s, m, h or d, as in 24h; not '\(text)'")
        }
        return seconds
    }

    /// A time of seconds to years: `90s`, `30m`, `24h`, `7d`; nil for anything else.
    package static func seconds(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let last = text.last, let unit = units[last], let count = UInt32(text.dropLast())
        else { return nil }
        return Int64(count) * unit
    }

    /// The value of an option that is a number of bytes: `500`, `64K`, `2M`; nil if it was not given.
    /// - Throws: `usage` for anything else, and for zero.
    package func byteCount(_ name: String) throws(CommandError) -> Int64? {
        guard let text = try value(name) else { return nil }
        var digits = text[...]
        var unit: Int64 = 1
        for (letter, factor) in [
            ("K", Int64(1) << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40),
        ] where text.uppercased().hasSuffix(letter) {
            digits = digits.dropLast()
            unit = factor
        }
        guard let number = Int64(digits), number > 0, number <= .max / unit else {
            throw .usage(
                "--\(name) takes a number of bytes, or of K, M, G or T, as in 512K; not '\(text)'")
        }
        return number * unit
    }
}
