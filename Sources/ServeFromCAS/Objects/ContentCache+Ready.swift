package import CASStore
import WebServer

// Whether an answer can be given, before it is promised.
extension ContentCache {
    /// How often a large file that keeps changing is verified.
    private static let attemptMax = 8

    /// Makes sure that an object can be sent; reads all of it if nobody has, so no loop calls this.
    /// - Throws: why it cannot, as sending it would.
    package func verify(_ object: ObjectID, size: Int64) throws(StoreError) {
        for _ in 0..<Self.attemptMax {
            guard case .unverified(let verify) = try content(of: object, size: size) else { return }
            let bell = ThreadBell()
            verify { bell.ring() }
            bell.wait()
        }
    }
}
