import CASStore

extension StoreError {
    static var interruptedPull: StoreError {
        StoreError(
            .interrupted, "interrupted; what has come is kept, and the next pull goes on from it")
    }
}

/// Returns `nil` if the body fails for any reason but an interruption.
func unlessInterrupted<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R? {
    do throws(StoreError) { return try body() } catch {
        guard error.code != .interrupted else { throw error }
        return nil
    }
}
