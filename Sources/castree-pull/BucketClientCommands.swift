import CASStore
import ClientSystems
import Console
import HotPush
import OriginCommands
import Storage
import StoreCommands
import VersionTree

// What the clients of other systems are told by origins in buckets: `origin enable`, `origin status`.

extension Invocation {
    /// `origin enable` in a bucket, and with `--disable` the end of it.
    func enableClientsInBucket() throws -> ExitStatus {
        let system = try clientSystem(argument("SYSTEM"))
        try refuseDirectoryOptions()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let publisher = try bucketPublisher { bars.report($0) }
        // What a stranger's entry sets cannot be deleted: it is replaced by what is set anew.
        var isDamaged: StoreError?
        let before = try ClientFiles(publisher.toldOrigin().origin)
            .replacedConfiguration(of: system) { isDamaged = $0 }
        let telling = try telling()
        if flag("disable") {
            try refuseSettings()
            let wasEnabled = before != nil || isDamaged != nil
            if wasEnabled { warn(try telling.disable(system, by: publisher)) }
            return try reportClients(
                statuses(of: nil, publisher), changed: wasEnabled,
                ending(system, wasEnabled: wasEnabled)
            ) { publisher.figures.writeMembers(to: &$0) }
        }
        if let isDamaged, try value("base-url") == nil { throw isDamaged }
        let configuration = try clientConfiguration(system, before: before)
        let versions = try openStore()
        let (commit, _) = try telling.enable(configuration, by: publisher, with: versions)
        bars.finish()
        warn(commit)
        let changed = before != configuration || !telling.outcomes.isEmpty || !commit.isUnchanged
        return try reportClients(statuses(of: system, publisher), changed: changed) {
            writeRequests(commit, to: &$0)
        }
    }

    /// `origin status` of a bucket: what the log says.
    func showClientsInBucket() throws -> ExitStatus {
        let publisher = BucketPublisher(try openBucket(try bucketOrigin(argument("ORIGIN"))))
        return try reportClients(statuses(of: nil, publisher)) {
            publisher.figures.writeMembers(to: &$0)
        }
    }

    private func statuses(
        of system: ClientSystem?, _ publisher: BucketPublisher
    ) throws -> [ClientStatus] {
        let (origin, pointers) = try publisher.toldOrigin()
        return try ClientStatus.all(of: system, in: origin) { pointers[$0] }
    }
}
