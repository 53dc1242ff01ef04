import CASStore

/// What an origin has of a delivery that a pointer names.
enum OfferedDelivery {
    struct State: Sendable {
        /// The packs that are there, in the order of the delivery.
        var packs: [Delivery.Pack] = []
        /// Those that it names and that are missing, or have other bytes.
        var damaged: [Delivery.Pack] = []
        /// From what it was made; `nil` if that is not known here.
        var work: PackingRecord.Work?
    }
}
