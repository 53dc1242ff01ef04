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

    /// Whether a text stands in an object of reasonable size that can be sent; no loop calls this either.
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
            // It could not be sent, and whoever sends it says why.
            return false
        }
    }

    /// The longest page that is searched.
    private static let searchedByteCountMax: Int64 = 1 << 20
}
