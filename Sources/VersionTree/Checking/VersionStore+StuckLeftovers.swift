package import CASStore
import StrictJSON

// What a collection or a repair could not remove, as the store remembers it for those who look later. Derived, not durable:
// the next collection knows it again.

extension VersionStore {
    /// How many are remembered.
    private static let stuckMax = 50
    private static let stuckByteCountMax = 1 << 20

    /// The findings of what this store could not open or remove, and that no finding tells: a repair that leaves something
    /// has not repaired all.
    func stuckFindings(besides findings: [Finding]) -> [Finding] {
        store.stuckLeftovers.filter { stuck in
            isSomething(at: stuck.path)
                && !findings.contains { !$0.isRepaired && $0.message.contains(stuck.reason) }
        }.map {
            Finding(
                .leftover, path: printable($0.path, .max),
                "\(printable($0.path)) in the store was to be removed; it stays: \($0.reason)")
        }
    }

    /// Remembers what this store could not open or remove, once everything else is cleaned up.
    func rememberStuck() {
        let stuck = store.stuckLeftovers
        if stuck.isEmpty {
            let root = directories.root.raw
            // Only a memory, as above.
            let isThere = (try? fileSystem.status(root, StoreLayout.stuck)) ?? nil
            // As above.
            if isThere != nil { try? fileSystem.removeIfPresent(root, StoreLayout.stuck) }
            return
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("count", stuck.count)
            writer.member("stuck", Array(stuck.prefix(Self.stuckMax))) { writer, one in
                writer.member("path", one.path)
                writer.member("reason", one.reason)
            }
        }
        store.remember(writer.drain() + [10], as: StoreLayout.stuck)
    }

    /// What the last collection or repair could not open or remove, as far as it is still there.
    package func rememberedStuck() -> [StuckLeftover] {
        let bytes = store.remembered(as: StoreLayout.stuck, limit: Self.stuckByteCountMax)
        let document = bytes.flatMap {
            // As above.
            try? JSONValue.parse($0, limits: JSONLimits(byteCount: Self.stuckByteCountMax))
        }
        let entries = document?["stuck"]?.asArray ?? []
        return entries.prefix(Self.stuckMax).compactMap { entry in
            guard let path = entry["path"]?.asString, let reason = entry["reason"]?.asString,
                isSomething(at: path)
            else { return nil }
            return StuckLeftover(path: path, reason: reason)
        }
    }

    /// Whether something stands at a path of the store; also if that cannot be told.
    func isSomething(at path: String) -> Bool {
        do throws(StoreError) {
            return try fileSystem.status(directories.root.raw, path) != nil
        } catch { return true }
    }
}
