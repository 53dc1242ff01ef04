import Platform

/// How sizes are printed.
package enum SizeStyle: Hashable, Sendable {
    /// In binary units with one decimal: "12.3 MiB".
    case binary
    /// As the exact count of bytes: "12897485 B".
    case exact

    package func text(_ byteCount: some BinaryInteger) -> String {
        guard self == .binary else { return "\(byteCount) B" }
        return sizeText(byteCount)
    }
}
