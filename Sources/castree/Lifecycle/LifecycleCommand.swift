import CASStore
import Console
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let lifecycle = Command(
        "lifecycle", summary: "shows which versions are current, pending, known good or banned",
        discussion: """
            'boot' is a start of the app that is not confirmed yet (castree confirm). 'being tried' \
            counts unconfirmed starts. 'way back' is the version that castree rollback would show. \
            'watched by' is the process that judges the current start; until it does, no other \
            process starts a version.

                castree lifecycle
            """
    ) { invocation in
        let store = try invocation.openStore()
        let lifecycle = try store.lifecycle()
        return try invocation.report { writer in
            lifecycle.writeMembers(to: &writer)
        } text: { output in
            // Another user may read the lifecycle, but not see who has a lock.
            let watcher = try? store.startWatcher()
            // A failing disk must not hide the rest.
            let wayBack = try? lifecycle.findWayBack(Onlooker(versions: store))
            lifecycle.print(to: output, wayBack: wayBack, watcher: watcher)
        }
    }
}

extension Lifecycle {
    /// - Parameter includesToken: whether to write the token of the boot, which readers of a report must not see.
    func writeMembers(to writer: inout JSONWriter, includesToken: Bool = true) {
        writer.member("current", current)
        writer.member("pending", pending)
        writer.member("knownGood", knownGood)
        writer.member("embedded", embedded)
        writer.member("protected", protected.sorted())
        writer.member("bad", bad) { writer, ban in
            writer.member("version", ban.version)
            writer.member("reason", ban.reason)
            writer.member("count", ban.count)
            writer.member("at", timestamp(ban.at))
        }
        if let before { writer.member("before", before) }
        if !attempts.isEmpty {
            writer.member("trials", attempts) { writer, attempt in
                writer.member("version", attempt.version)
                writer.member("strikes", attempt.failedAttempts)
                writer.member("takenBack", attempt.takenBack)
            }
        }
        writer.member("boot", orNull: boot) { writer, boot in
            writer.member("version", boot.version)
            if includesToken { writer.member("token", boot.token) }
            writer.member("startedAt", timestamp(boot.startedAt))
        }
    }

    func print(
        to output: Output, includesToken: Bool = true, wayBack: String? = nil,
        watcher: LockHolder? = nil
    ) {
        var table = TextTable([.left(""), .left("")])
        table.add(["current", name(current)])
        table.add(["pending", name(pending)])
        table.add(["known good", name(knownGood.isEmpty ? nil : knownGood.joined(separator: ", "))])
        table.add(["embedded", name(embedded)])
        if !protected.isEmpty {
            table.add(["protected", name(protected.sorted().joined(separator: ", "))])
        }
        for ban in bad {
            let times = counted(ban.count, "time")
            table.add([
                "\("bad", .red)",
                "\(ban.version): \(ban.reason) (\(times), last \(timestamp(ban.at)))",
            ])
        }
        for attempt in attempts {
            let starts = counted(attempt.failedAttempts, "start")
            table.add([
                "being tried",
                "\(attempt.version): \(starts) not confirmed, \(attempt.takenBack) taken back",
            ])
        }
        if let wayBack { table.add(["way back", name(wayBack)]) }
        // A known good version may be started again and again, and needs no confirmation.
        if let boot, !knownGood.contains(boot.version) {
            let token: DisplayText = includesToken ? ", token \(boot.token)" : ""
            table.add([
                "boot",
                "\(boot.version) at \(timestamp(boot.startedAt)), not confirmed\(token)",
            ])
        }
        if let watcher { table.add(["watched by", "\(watcher.description)"]) }
        table.print(to: output)
    }

    private func name(_ version: String?) -> DisplayText {
        if let version { "\(version)" } else { "\("none", .faint)" }
    }
}

/// Finds out which versions could be started, without building trees.
private struct Onlooker: StartableVersions {
    let versions: VersionStore

    func content(of version: String) throws(StoreError) -> ObjectID? {
        try versions.content(of: version)
    }

    func isUsable(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard let row = try versions.store.versionRow(name) else { return false }
        return row.isComplete && lifecycle.ban(of: row.content) == nil
    }
}
