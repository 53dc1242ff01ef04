import CASStore
import HotPush
package import Platform

extension StoreError.Code {
    /// A system's feed or its settings are damaged.
    package static let badClients = Self("badClients")
    /// A release cannot be offered to the clients of another system.
    package static let notExpressible = Self("notExpressible")
}

extension StoreError {
    /// Whether the error concerns only one system's feed and need not stop other work: damage, a foreign file in its
    /// place, no permission.
    var isOfClients: Bool {
        [
            .badClients, .badPointer, .damagedOrigin, .io, .permission, .tooLarge,
            .unsupportedFormat,
        ].contains(code)
    }
}
