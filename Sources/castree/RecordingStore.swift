import Console
import HotPush
import VersionTree

extension Invocation {
    /// Opens the store for a command that changes something: its event log says afterwards what.
    func openRecordingStore() throws -> VersionStore {
        try openStore().recordingEvents()
    }
}
