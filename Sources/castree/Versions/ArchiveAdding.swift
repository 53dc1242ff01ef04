import ArchiveReading
import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

extension Invocation {
    func addArchive() throws -> ExitStatus {
        let name = try VersionName(try requiredValue("version")).description
        let path = argument("SOURCE")
        try refuse(Option.ofDirectories, "is for directories, and \(path) is an archive")
        let bar = progress("Reading")
        defer { bar.finish() }
        var options = ArchiveOptions()
        options.stripped = try value("strip")
        options.excluded = try excluded()
        options.skipsJunk = flag("skip-junk")
        options.byteCountMax = try byteCount("max-size") ?? options.byteCountMax
        options.progress = { bar.report($0, of: $1) }
        let source =
            path == "-"
            ? try ArchiveSource(standardInput: Self.waitForInput)
            : try ArchiveSource(path: path, wait: Self.waitForInput)
        // An archive that can be recognized as wrong here must not create a store, nor leave an empty one behind.
        let reader = try ArchiveReader(source, options)
        return try leavingNoEmptyStore {
            let versions = try openOrCreateStore(isDurable: !flag("no-sync")).recordingEvents()
            let report = try reader.add(
                to: versions, as: name, takingEmpty: flag("allow-empty"))
            bar.finish()
            try noteTop(report, versions.manifest(of: name), path)
            if !isGiven("exclude"),
                report.leftOut.contains(where: { ("/" + $0).hasSuffix("/.castreeignore") })
            {
                note(
                    "the .castreeignore in \(printable(path)) has no effect in an archive; use --exclude PATTERN"
                )
            }
            let previous = flag("activate") ? try versions.activate(name) : nil
            return try self.report(report, previous: previous)
        }
    }

    /// Reports that all of an archive lies below one directory, which is probably not meant.
    private func noteTop(_ report: AddReport, _ manifest: Manifest, _ path: String) throws {
        let unwanted = Set(report.unwanted)
        let names = manifest.entries.map(\.path.description)
        let tops = Set(
            names.map { $0.prefix { $0 != "/" } }.filter { !unwanted.contains($0 + "/") })
        guard try value("strip") == nil, let top = tops.first, tops.count == 1,
            !names.contains(String(top))
        else { return }
        note(
            "all files of \(printable(path)) are below \(printable(String(top)))/, also in the version; --strip \(printable(String(top)))/ removes that directory"
        )
    }

    /// Waits until there is something to read; a signal ends it.
    private static func waitForInput(_ descriptor: Int32?) throws(StoreError) {
        if let descriptor { waitUntilReadable(descriptor) }
        if Interruption.isRequested { throw .interruption }
    }
}
