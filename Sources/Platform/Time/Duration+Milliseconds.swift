extension Duration {
    /// Whole milliseconds; a practically infinite number if they do not fit.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < 1 << 40 else { return 1 << 50 }
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
