import CASStore

/// An origin, for whoever signs what it offers: where it is, and what it says besides its pointers.
///
/// All of it is read where it is wanted.
protocol SigningPlace {
    /// Where it is, in one spelling: it is remembered beside the keys.
    var place: String { get }
    /// The id that its marker says; `nil` for one that nobody has signed, and without a marker.
    func markedID() throws(StoreError) -> String?
    /// A version of its trust; `nil` if it is not there.
    /// - Throws: `.untrusted` for a damaged file.
    func trust(_ version: Int64) throws(StoreError) -> TrustFile?
}
