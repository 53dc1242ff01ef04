package import Platform

extension StoreError.Code {
    /// A request that a server would answer with an error before looking for anything.
    package static let refusedRequest = Self("refusedRequest")
    /// The port is in use by another program.
    package static let portInUse = Self("portInUse")
}
