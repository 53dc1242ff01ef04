import CASStore
import VersionTree

/// What a device takes unless it is told otherwise: one table for those who publish and those who pull.
///
/// Packs have a table of their own, ``PackLimits``, which both sides read as well; so have pointers
/// (``ChannelPointer``), deliveries (``Delivery``) and the requirements of a release.
package struct DeviceLimits: Sendable, Hashable {
    /// The most entries of a version, and the directories that they make (`--max-entries`).
    package var entryCount: Int
    /// The most entries that a device takes by default.
    package static let entryCountDefault = 250_000
    /// So much of a manifest each entry may take.
    private static let manifestByteCountOfEntry: Int64 = 512
    /// So much any manifest may take.
    private static let manifestByteCountMin: Int64 = 1 << 20

    /// The limits of a device that takes so many entries.
    package init(entryCount: Int = DeviceLimits.entryCountDefault) {
        self.entryCount = min(entryCount, Manifest.countMax)
    }

    /// The largest manifest, in bytes: so a small compressed answer cannot fill the memory either.
    package var manifestByteCount: Int64 {
        max(Self.manifestByteCountMin, Int64(entryCount) * Self.manifestByteCountOfEntry)
    }

    /// Why a device would refuse files that have so many directories; `nil` if it would not.
    func objection(toFiles count: Int, directories: Int) -> String? {
        guard count + directories > entryCount else { return nil }
        return
            "it has \(counted(count, "file")) in \(directories) \(directories == 1 ? "directory" : "directories"), and a device takes \(entryCount) of both "
            + "together (--max-entries allows more)"
    }

    /// Why a device would refuse a version's manifest; `nil` if it would not.
    /// - Parameter byteCount: the size of its text.
    func objection(to manifest: Manifest, byteCount: Int64) throws(StoreError) -> String? {
        let directories = manifest.directoryCount
        if let objection = objection(toFiles: manifest.count, directories: directories) {
            return objection
        }
        guard byteCount <= manifestByteCount else {
            return "its manifest has \(byteCount) bytes, and a device reads \(manifestByteCount) "
                + "(--max-entries allows more)"
        }
        // Plain entries never take more memory than they may; what hangs on them might.
        guard manifest.hasExtras else { return nil }
        do throws(StoreError) {
            _ = try Manifest(
                parsing: manifest.serialized(), limits: .foreign(entryCountMax: entryCount))
            return nil
        } catch {
            guard error.code == .badManifest else { throw error }
            return error.message
        }
    }
}
