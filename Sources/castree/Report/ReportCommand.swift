import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let report = Command(
        "report", summary: "writes one file to attach to a bug report",
        discussion: """
            It describes the program, the system, the store's figures, the versions, the lifecycle \
            and the event log. It contains no content, no content paths and no secrets. A part that \
            cannot be determined shows its error instead. The document replaces FILE; without FILE \
            it is printed.

                castree report bug.txt
                castree report bug.json --json
            """,
        arguments: [Argument("FILE", "the file to write", .optional, completion: .files)]
    ) { invocation in
        let file = invocation.optionalArgument("FILE")
        if let file { try refuseOwnPlace(file) }
        let report = try invocation.waitingOnce { try invocation.makeReport() }
        if let file {
            let isOwnFile = try replaceFile(
                file, with: invocation.isJSON ? report.json : report.text,
                asking: fileSystem(forWritingIn:_:))
            guard isOwnFile else { return .done }
        }
        return try invocation.report { writer in
            report.writeMembers(to: &writer)
        } text: { output in
            if let file {
                output.print("Wrote \(file).")
            } else {
                report.print(to: output)
            }
        }
    }
}

extension Invocation {
    /// Collects everything that can be read.
    /// - Throws: `noStore`: the command was probably given the wrong directory.
    fileprivate func makeReport() throws -> BugReport {
        let path = try existingStorePath()
        let options = try storeOptions()
        let versions = Attempt { () throws(StoreError) in
            try VersionStore.open(path, options: options)
        }
        if case .failure(let error) = versions, error.code == .noStore {
            throw sayingWhoNamedStore(error)
        }
        return BugReport(
            createdAt: secondsNow(), path: path,
            format: versions.map { _ in Store.formatVersion },
            space: Attempt { () throws(StoreError) in
                let versions = try versions.get()
                return try versions.fileSystem.freeSpace(versions.directories.root.raw)
            },
            usage: Attempt { () throws(StoreError) in try versions.get().store.usage() },
            versions: Attempt { () throws(StoreError) in try versions.get().versions() },
            lifecycle: Attempt { () throws(StoreError) in try versions.get().lifecycle() },
            trust: Attempt { () throws(StoreError) in try versions.get().trust() },
            events: Attempt { () throws(StoreError) in try EventLog(versions.get()).entries() })
    }
}
