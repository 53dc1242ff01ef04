import CASStore

@testable import VersionTree

extension VersionStore {
    /// Makes a version the embedded one, as the adapter that adopts it will.
    func embed(_ name: String, knownGood: [String]? = nil) throws {
        try changeLifecycle { (lifecycle: inout Lifecycle) throws(StoreError) -> Void in
            lifecycle.embedded = name
            if let knownGood { lifecycle.knownGood = knownGood }
        }
    }
}
