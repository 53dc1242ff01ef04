package import Platform

extension StoreError.Code {
    /// Another program uses the port.
    package static let portInUse = Self("portInUse")
}
