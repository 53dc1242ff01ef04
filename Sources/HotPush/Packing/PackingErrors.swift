import CASStore

extension StoreError {
    /// The end of a publisher by a signal, before it has committed anything.
    static var publishingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted; the channel offers what it did before, and repeating the command goes on")
    }

    /// The end of packing by a signal.
    static var packingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted while packing; what is compressed is kept, and repeating the command goes on"
        )
    }
}
