package import CASStore
import WebServer

// Whether an answer could be given, before it is promised.
extension ContentCache {
    /// How often a large file is verified that changes meanwhile.
    private static let attemptMax = 8

    /// Makes sure that an object can be sent; reads all of it if nobody has, so no loop asks.
    /// - Throws: why it cannot, as whoever sends it would be told.
    package func verify(_ object: ObjectID, size: Int64) throws(StoreError) {
        for _ in 0..<Self.attemptMax {
            guard case .unverified(let verify) = try content(of: object, size: size) else { return }
            let bell = ThreadBell()
            verify { bell.ring() }
            bell.wait()
        }
    }
}
