internal import Platform

package enum ProgressUnit: Hashable, Sendable {
    case bytes
    case count(String)
}

/// One state of a progress bar, as a value: rendering is pure.
struct ProgressLine: Hashable, Sendable {
    var operation: String
    var done: Int
    var total: Int?
    var unit: ProgressUnit
    var elapsed: Duration

    /// The line, at most as wide as the columns given; what matters least is dropped first.
    func text(columns: Int) -> String {
        let operation = operation.escapedForDisplay
        // Fields keep their width from one drawing to the next, so that the bar does.
        let fields = [
            percentage?.padded(toColumns: 4), amounts.padded(toColumns: total == nil ? 0 : 19),
            rate?.padded(toColumns: 12), timeLeft?.padded(toColumns: 9),
        ].compactMap { $0 }
        for count in stride(from: fields.count, through: 0, by: -1) {
            let tail = fields.prefix(count).map { "  " + $0 }.joined()
            let space = columns - operation.columnCount - tail.columnCount
            if space < 0 { continue }
            return operation + bar(columns: min(space - 2, 40)) + tail
        }
        return operation.truncated(toColumns: columns)
    }

    /// From 0 to 1; nil if the total is not known.
    private var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1
    }

    private func bar(columns: Int) -> String {
        guard let fraction, columns >= 10 else { return "" }
        let inner = columns - 2
        let filled = Int(fraction * Double(inner))
        return "  [" + String(repeating: "=", count: filled)
            + String(repeating: " ", count: inner - filled) + "]"
    }

    private var percentage: String? {
        guard let fraction else { return nil }
        // Rounded down: 100 % means done.
        return "\(Int(fraction * 100))%"
    }

    private var amounts: String {
        switch unit {
        case .bytes:
            let done = SizeStyle.binary.text(done)
            return total.map { "\(done)/\(SizeStyle.binary.text($0))" } ?? done
        case .count(let noun):
            let done = groupedCount(done)
            return (total.map { "\(done)/\(groupedCount($0))" } ?? done) + " \(noun)"
        }
    }

    /// Per second since the clock started; nil before there is anything to tell.
    private var perSecond: Double? {
        let seconds = elapsed / .seconds(1)
        guard seconds > 0.2, done > 0 else { return nil }
        return Double(done) / seconds
    }

    private var rate: String? {
        guard let perSecond, let whole = Int(exactly: perSecond.rounded()) else { return nil }
        switch unit {
        case .bytes: return SizeStyle.binary.text(whole) + "/s"
        case .count: return groupedCount(whole) + "/s"
        }
    }

    private var timeLeft: String? {
        guard let perSecond, let total, total > done else { return nil }
        let seconds = (Double(total - done) / perSecond).rounded(.up)
        // A week and more is a guess that helps no one.
        guard seconds < 604_800 else { return nil }
        let whole = Int(seconds)
        let minutes = twoDigits(whole / 60 % 60)
        let clock = whole < 3600 ? "\(whole / 60)" : "\(whole / 3600):\(minutes)"
        return "\(clock):\(twoDigits(whole % 60)) left"
    }
}
