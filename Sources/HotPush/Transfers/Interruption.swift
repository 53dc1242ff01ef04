import CASStore

extension StoreError {
    /// Somebody stopped a pull.
    static var interruptedPull: StoreError {
        StoreError(
            .interrupted, "interrupted; what has come is kept, and the next pull goes on from it")
    }
}
