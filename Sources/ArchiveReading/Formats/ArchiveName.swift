package import Platform

/// What messages call an archive.
package struct ArchiveName: Sendable, Hashable {
    /// Its path, or `standard input`.
    package let text: String
    /// Which of its entries is to blame if no other is named.
    private var entry: String?

    /// Names an archive.
    package init(_ text: String) { self.text = text }

    /// The archive while one of its entries is read.
    package func reading(_ entry: String) -> ArchiveName {
        var name = self
        name.entry = entry
        return name
    }

    /// The error of an archive that is refused.
    /// - Parameter entry: which of its entries is to blame.
    package func refusal(
        _ problem: String, entry: String? = nil, _ code: StoreError.Code = .badArchive
    ) -> StoreError {
        let place = (entry ?? self.entry).map { "\"\(printable($0))\" in " } ?? ""
        return StoreError(code, "\(place)\(printable(text)) is refused: \(problem)")
    }
}

extension StoreError.Code {
    /// An archive is damaged, cut off, of no known format, or holds what a version cannot.
    package static let badArchive = Self("badArchive")
}
