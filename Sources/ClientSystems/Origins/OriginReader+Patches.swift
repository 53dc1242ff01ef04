import Bsdiff
import CASStore
import HotPush
import Origin
import Platform
import Synchronization

// Patches only save bytes: whatever is wrong with them is reported, and clients get whole files.

extension OriginReader {
    /// The patches that lead to the releases of a channel; empty where there are none, or they cannot be read.
    /// - Throws: `.unread` if they have to be read.
    func patches(of channel: ChannelName, mayRead: Bool) throws(StoreError) -> PatchTable {
        let known = state.withLock { $0.patches[channel] }
        do throws(StoreError) {
            let kept = try current(
                ClientPatches.path(of: channel), known, limit: ClientHistory.byteCountMax, mayRead
            ) { (bytes) throws(StoreError) in
                let patches = try ClientPatches(parsing: bytes, of: channel)
                return PatchTable(patches, self.state.withLock { $0.nextReading() })
            }
            state.withLock { $0.patches[channel] = kept }
            return try kept.outcome.get() ?? PatchTable(nil)
        } catch {
            guard error.code != .unread else { throw error }
            tell(error)
            return PatchTable(nil)
        }
    }

    /// The bytes of a patch, compared with its address and what it must make; `nil` for others, or if it is not here.
    /// - Throws: `.unread` if they have to be read.
    func bytes(
        of patch: ClientPatch, making byteCount: Int64?, mayRead: Bool
    ) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            guard
                let bytes = try bytes(
                    of: patch.key, byteCount: patch.byteCount, mayRead: mayRead, in: \.patchBytes)
            else { return nil }
            guard let byteCount else { return bytes }
            return BsdiffPatch.newByteCount(of: bytes).map(Int64.init) == byteCount ? bytes : nil
        } catch {
            guard error.code != .unread else { throw error }
            tell(error)
            return nil
        }
    }
}
