import CASStore
import HotPush
package import Platform

extension StoreError.Code {
    /// What the clients of another system are told, or the operator has set for them, is damaged.
    package static let badClients = Self("badClients")
    /// A release cannot be offered to the clients of another system.
    package static let notExpressible = Self("notExpressible")
}

extension StoreError {
    /// Whether it is about what the clients of one system are told, and keeps nobody else from working: damage, something
    /// else in its place, no right to it.
    var isOfClients: Bool {
        [
            .badClients, .badPointer, .damagedOrigin, .io, .permission, .tooLarge,
            .unsupportedFormat,
        ].contains(code)
    }
}
