import Console
import HotPush
import StoreCommands
import VersionTree

extension Invocation {
    /// Opens the store for a command that changes something, which its event log records.
    /// - Parameter notice: as in `storeOptions`.
    func openRecordingStore(
        notice: (@Sendable (String) -> Void)? = nil
    ) throws -> VersionStore {
        try openStore(notice: notice).recordingEvents()
    }
}
