import CASStore

extension StoreError {
    /// The end of packing by a signal.
    static var packingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted while packing; what is compressed is kept, and repeating the command goes on"
        )
    }
}
