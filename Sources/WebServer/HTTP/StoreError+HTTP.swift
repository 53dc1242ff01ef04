package import Platform

extension StoreError.Code {
    /// A request that a server would refuse before it looks for anything.
    package static let refusedRequest = Self("refusedRequest")
    /// Another program uses the port.
    package static let portInUse = Self("portInUse")
}
