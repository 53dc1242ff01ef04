package import CASStore
package import VersionTree

/// What a device accepts by default, for those who publish and those who pull.
///
/// Packs (``PackLimits``), pointers (``ChannelPointer``), deliveries (``Delivery``) and the requirements of a release
/// have limits of their own.
package struct DeviceLimits: Sendable, Hashable {
    /// The most entries of a version, and the directories that they make (`--max-entries`).
    package var entryCount: Int
    package static let entryCountDefault = 250_000
    private static let manifestByteCountOfEntry: Int64 = 512
    private static let manifestByteCountMin: Int64 = 1 << 20

    package init(entryCount: Int = DeviceLimits.entryCountDefault) {
        self.entryCount = min(entryCount, Manifest.countMax)
    }

    /// The largest manifest, in bytes, so that a small compressed answer cannot fill the memory either.
    package var manifestByteCount: Int64 {
        max(Self.manifestByteCountMin, Int64(entryCount) * Self.manifestByteCountOfEntry)
    }

    /// Why a device would refuse so many files and directories; `nil` if it would not.
    package func objection(toFiles count: Int, directories: Int) -> String? {
        guard count + directories > entryCount else { return nil }
        return
            "it has \(counted(count, "file")) in \(directories) \(directories == 1 ? "directory" : "directories"), and a device takes \(entryCount) of both "
            + "together (--max-entries allows more)"
    }

    /// Why a device would refuse a version's manifest; `nil` if it would not.
    package func objection(to manifest: Manifest, byteCount: Int64) throws(StoreError) -> String? {
        let directories = manifest.directoryCount
        if let objection = objection(toFiles: manifest.count, directories: directories) {
            return objection
        }
        guard byteCount <= manifestByteCount else {
            return "its manifest has \(byteCount) bytes, and a device reads \(manifestByteCount) "
                + "(--max-entries allows more)"
        }
        // Plain entries stay within the memory that they may take; their extras might not.
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
