package import CASStore
import Storage
import StrictJSON

extension DirectoryOrigin {
    /// Whether the newest entry of the log names a pointer, or a file below `for/`.
    /// - Throws: why the log cannot be read at present; where it never tells, the answer is `false`.
    package func logNames(_ path: String) throws(StoreError) -> Bool {
        guard let copy = LogCopy(path: path) else { return false }
        do throws(StoreError) {
            let log = OriginLog(
                try DirectoryStorage(self.path, scratch: OriginLayout.work, fileSystem: fileSystem))
            guard let entry = try log.newestEntry(from: 0)?.entry, copy.place(in: entry) != nil
            else { return false }
            guard case .configuration(let system) = copy else { return true }
            // A disabled system needs none.
            return try log.configuration(of: system, in: entry)?["enabled"]?.asBool != false
        } catch {
            // castree fsck reports a damaged log; servers need not have the right to read it.
            guard
                OriginLog.saysEntryIsBad(error) || error.code == .unsupportedFormat
                    || error.isOfPlace
            else { throw error }
            return false
        }
    }
}
