import CASStore
import ClientSystems
import Console
import HotPush
import S3
import Storage
import StoreCommands
import VersionTree

// What the clients of other systems are told by an origin: `origin enable`, `origin status`.

extension Invocation {
    /// `origin enable`, and with `--disable` the end of it.
    func enableClients() throws -> ExitStatus {
        let system = try clientSystem(argument("SYSTEM"))
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let publisher = try publisher() { bars.report($0) }
        // What a stranger's entry sets cannot be deleted: it is replaced by what is set anew.
        var isDamaged: StoreError?
        let before = try publisher.clients().replacedConfiguration(of: system) { isDamaged = $0 }
        let telling = try telling()
        if flag("disable") {
            try refuseSettings()
            let wasEnabled = before != nil || isDamaged != nil
            if wasEnabled { try warn(telling.disable(system, by: publisher)) }
            return try reportClients(
                ClientStatus.all(in: publisher.clients()), changed: wasEnabled,
                ending(system, wasEnabled: wasEnabled)
            ) { publisher.figures.writeMembers(to: &$0) }
        }
        if let isDamaged, try value("base-url") == nil { throw isDamaged }
        let configuration = try clientConfiguration(system, before: before)
        let versions = publisher.needsStore ? try openStore() : nil
        let (commit, _) = try telling.enable(configuration, by: publisher, with: versions)
        bars.finish()
        try warn(commit)
        let changed = before != configuration || !telling.outcomes.isEmpty || !commit.isUnchanged
        return try reportClients(
            ClientStatus.all(of: system, in: publisher.clients()), changed: changed
        ) {
            writeRequests(commit, to: &$0)
        }
    }

    /// `origin status`: what the log says, and which files do not say so.
    func showClients() throws -> ExitStatus {
        let publisher = try publisher(isDraft: true)
        let clients = try publisher.clients()
        var statuses = try ClientStatus.all(in: clients)
        for (system, path) in try clients.staleFiles() {
            guard let place = statuses.firstIndex(where: { $0.system.rawValue == system }) else {
                continue
            }
            statuses[place].problems.append(
                StoreError(
                    .badClients,
                    "\(path) is not what the log says; the next castree publish or castree withdraw writes it again, "
                        + "and so does castree fsck --repair"))
        }
        let status = try reportClients(statuses) { publisher.figures.writeMembers(to: &$0) }
        return statuses.allSatisfy(\.problems.isEmpty) ? status : .failed
    }
}
