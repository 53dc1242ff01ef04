package import Platform

extension StoreError.Code {
    /// What the clients of another system are told, or the operator has set for them, is damaged.
    package static let badClients = Self("badClients")
    /// A release cannot be offered to the clients of another system.
    package static let notExpressible = Self("notExpressible")
}
