package import CASStore
package import StrictJSON

// The entries of a manifest one by one, without making a value of each: for those who read all.
extension Manifest {
    /// What few entries have.
    package struct Extras {
        package let routes: [String]
        package let labels: [Label]
        package let foreign: [JSONValue.Member]
    }

    /// The bytes of all paths together.
    package var pathByteCount: Int { paths.count }

    /// The address of the entry at a position.
    package func address(at position: Int) -> ObjectID { records[position].address }

    /// The size of the entry at a position.
    package func byteCount(at position: Int) -> Int64 { records[position].byteCount }

    /// Calls `body` with the path of the entry at a position; the bytes are gone after the call.
    package func withPathBytes<R>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> R
    ) -> R {
        withPath(position, body)
    }

    /// Whether any entry has extras.
    package var hasExtras: Bool { !details.isEmpty }

    /// The extras of the entry at a position; `nil` if it has none.
    package func extras(at position: Int) -> Extras? {
        guard let more = details[position] else { return nil }
        return Extras(routes: more.routes, labels: more.labels, foreign: more.foreign)
    }
}
