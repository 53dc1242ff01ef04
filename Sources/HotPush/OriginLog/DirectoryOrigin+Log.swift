import CASStore
import Storage
import StrictJSON

extension DirectoryOrigin {
    /// Whether the newest entry of the log names a pointer, or a file below `for/`; `false` if that cannot be known.
    package func logNames(_ path: String) -> Bool {
        guard let copy = LogCopy(path: path) else { return false }
        do throws(StoreError) {
            let log = OriginLog(
                try DirectoryStorage(self.path, scratch: OriginLayout.work, fileSystem: fileSystem))
            guard let end = try log.end(from: 0), let entry = try log.entry(end),
                copy.place(in: entry) != nil
            else { return false }
            guard case .configuration(let system) = copy else { return true }
            // A disabled system needs none.
            return try log.configuration(of: system, in: entry)?["enabled"]?.asBool != false
        } catch {
            // Some copies of an origin have no log, and castree fsck reports a damaged one.
            return false
        }
    }
}
