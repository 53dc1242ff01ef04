package import Platform

/// The name of an archive in messages.
package struct ArchiveName: Sendable, Hashable {
    /// Its path, or `standard input`.
    package let text: String
    /// The entry to blame if no other is named.
    private var entry: String?

    package init(_ text: String) { self.text = text }

    package func reading(_ entry: String) -> ArchiveName {
        var name = self
        name.entry = entry
        return name
    }

    /// The error for a refused archive.
    /// - Parameter entry: the entry to blame.
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
