import CASStore
import ClientSystems
import Console
import HotPush
import OriginCommands
import StoreCommands
import VersionTree

extension Invocation {
    /// `origin enable`, and with `--disable` the end of it.
    func enableClients() throws -> ExitStatus {
        let system = try clientSystem(argument("SYSTEM"))
        var publisher = try publisher()
        let origin = try DirectoryOrigin(publisher.path)
        let files = ClientFiles(origin.place)
        let telling = try telling()
        if flag("disable") {
            try refuseSettings()
            var wasEnabled = false
            // One that is damaged ends, too.
            let before = try files.replacedConfiguration(of: system) { _ in wasEnabled = true }
            wasEnabled = wasEnabled || before != nil
            if wasEnabled { try telling.disable(system, by: publisher) }
            return try reportClients(
                ClientStatus.all(in: origin), changed: wasEnabled,
                ending(system, wasEnabled: wasEnabled))
        }
        let before = try files.configuration(of: system)
        let configuration = try clientConfiguration(system, before: before)
        let bars = follow(&publisher)
        defer { bars.finish() }
        let standing = try origin.pointers().mapValues(\.sequence)
        let pointers = try telling.enable(configuration, by: publisher)
        bars.finish()
        let changed =
            before != configuration || !telling.outcomes.isEmpty
            || pointers.contains { standing[$0.channel] != $0.sequence }
        return try reportClients(ClientStatus.all(of: system, in: origin), changed: changed)
    }

    /// `origin status`.
    func showClients() throws -> ExitStatus {
        guard case .directory(let path) = try origin(argument("ORIGIN")).location else {
            throw CommandError.usage("origin status takes the directory of an origin")
        }
        let statuses = try ClientStatus.all(in: DirectoryOrigin(path))
        let status = try reportClients(statuses)
        return statuses.allSatisfy(\.problems.isEmpty) ? status : .failed
    }
}
