package import CASStore
import WebServer

// Checks before an answer is promised.
extension ContentCache {
    /// How often a large file that keeps changing is verified.
    private static let attemptMax = 8

    /// Makes sure that an object can be sent; may read all of it, so no loop calls this.
    /// - Throws: why it cannot, as sending it would.
    package func verify(_ object: ObjectID, size: Int64) throws(StoreError) {
        for _ in 0..<Self.attemptMax {
            guard case .unverified(let verify) = try content(of: object, size: size) else { return }
            let isDone = Monitor(false)
            verify { isDone.change { $0 = true } }
            isDone.wait(until: { $0 }) { _ in }
        }
    }

    /// Whether a sendable object up to a limit contains a text; no loop calls this either.
    func mentions(_ text: some StringProtocol, _ object: ObjectID, size: Int64) -> Bool {
        guard size <= Self.searchedByteCountMax else { return false }
        do throws(StoreError) {
            let bytes: [UInt8]
            switch try content(of: object, size: size) {
            case .memory(let held): bytes = Array(held)
            case .file(let file as OpenObject): bytes = try file.verifiedBytes()
            case .file, .unverified: return false
            }
            return bytes.contains(Array(text.utf8))
        } catch {
            // Sending it reports why it cannot be sent.
            return false
        }
    }

    private static let searchedByteCountMax: Int64 = 1 << 20
}
