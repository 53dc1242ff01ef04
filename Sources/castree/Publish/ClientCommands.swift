import CASStore
import ClientSystems
import Console
import HotPush
import OriginCommands
import StoreCommands
import VersionTree

extension Invocation {
    /// Refuses an origin in a bucket: the clients of other systems are served from directories.
    private func refuseBucket() throws {
        guard isOriginInBucket else { return }
        throw CommandError.usage(
            "the clients of other systems update from origins in directories, not from buckets: publish to a directory, "
                + "enable the system there, and run castree origin serve on that machine")
    }

    /// `origin enable`, and with `--disable` the end of it.
    func enableClients() throws -> ExitStatus {
        try refuseBucket()
        let system = try clientSystem(argument("SYSTEM"))
        var publisher = try publisher()
        let origin = try DirectoryOrigin(publisher.path)
        let before = try ClientFiles(origin.place).configuration(of: system)
        let telling = try telling()
        if flag("disable") {
            let others = ["base-url", "deployment", "folder", "history"]
            if let other = others.first(where: isGiven) {
                throw CommandError.usage("--disable and --\(other) exclude each other")
            }
            if before != nil { try telling.disable(system, by: publisher) }
            let sentence =
                before == nil
                ? "The clients of \(system.rawValue) were told nothing."
                : "The clients of \(system.rawValue) are told nothing more."
            return try reportClients(
                ClientStatus.all(in: origin), changed: before != nil, sentence)
        }
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
        try refuseBucket()
        guard case .directory(let path) = try origin(argument("ORIGIN")).location else {
            throw CommandError.usage("origin status takes the directory of an origin")
        }
        let statuses = try ClientStatus.all(in: DirectoryOrigin(path))
        let status = try reportClients(statuses)
        return statuses.allSatisfy(\.problems.isEmpty) ? status : .failed
    }
}
