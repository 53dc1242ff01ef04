public import CASStore

public struct ProxyRoute: Sendable { public init(_ t: String) throws(StoreError) {} }
struct ProxyTable: Sendable {
    init(_ r: [ProxyRoute]) throws(StoreError) {}
    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer? { nil }
}
