extension Duration {
    /// Its whole milliseconds; if they do not fit, more than anybody waits.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < 1 << 40 else { return 1 << 50 }
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
