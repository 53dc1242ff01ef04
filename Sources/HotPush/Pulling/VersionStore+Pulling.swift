import CASStore
import StrictJSON
import VersionTree

// What a pull asks of the versions that are here.

extension VersionStore {
    func manifest(
        with content: ObjectID, ifWhole: Bool = false
    ) throws(StoreError) -> Manifest? {
        for (row, _) in try store.versionRows()
        where row.content == content && (row.isComplete || !ifWhole) {
            if let manifest = try readableManifest(of: row.name) { return manifest }
        }
        return nil
    }

    /// Whether a version of that name exists with everything that it needs.
    func isAllHere(_ name: String) throws(StoreError) -> Bool {
        try versions().contains { $0.version == name && $0.state != .incomplete }
    }

    func contents(ifWhole: Bool) throws(StoreError) -> Set<ObjectID> {
        Set(
            try store.versionRows().lazy.map(\.row).filter { $0.isComplete || !ifWhole }.map(
                \.content))
    }

    /// What the current version says about the app, for formats that check it.
    func appIdentity() throws(StoreError) -> AppIdentity {
        try currentManifest().map { AppIdentity(keptIn: $0) } ?? AppIdentity()
    }

    /// The bytes of a plan's contents that are staged; ignores small files.
    func stagedByteCount(of plan: DownloadPlan) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        for content in plan.contents where content.byteCount ?? 0 > IncomingContents.memoryByteCount
        {
            let status = try fileSystem.status(
                directories.staging.raw, content.name.description)
            byteCount += status?.byteCount ?? 0
        }
        return byteCount
    }
}

extension Manifest {
    /// Whether it was made of the documents of that release.
    func isReceived(from release: Release) throws(StoreError) -> Bool {
        try received?.address == ObjectID(of: release.received)
    }
}

extension AppIdentity {
    static let key = "app"

    var member: JSONValue.Member {
        .init(key: Self.key, value: .members(["id": .text(id), "rootURL": .text(rootURL)]))
    }

    init(keptIn manifest: Manifest) {
        let kept = manifest.foreign.first { $0.key == Self.key }?.value
        self.init(id: kept?["id"]?.asString, rootURL: kept?["rootURL"]?.asString)
    }
}
