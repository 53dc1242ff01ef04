import CASStore
import Expectations
import Foundation
import StorageTestSupport

@testable import VersionTree

/// A disk on which a quota is used up while the store's reserve is there: statvfs(3) shows free space.
private struct QuotaDisk: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    let reserve: String

    private func charge(_ call: String) throws(StoreError) {
        guard access(reserve, F_OK) == 0 else { return }
        throw StoreError(systemCall: call, errno: EDQUOT, path: "somewhere")
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        let makes = access == .creating || access == .updating
        if makes, try base.status(directory, path) == nil { try charge("openat") }
        return try base.open(directory, path, access, mode: mode)
    }

    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try charge("write")
        try base.write(file, bytes)
    }

    func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError) {
        try charge("write")
        try base.write(file, bytes, at: offset)
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try charge("mkdirat")
        try base.makeDirectory(directory, path, mode: mode)
    }

    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try charge("symlinkat")
        try base.makeSymbolicLink(directory, path, to: target)
    }

    func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        throw StoreError(systemCall: "posix_fallocate", errno: EDQUOT, path: "somewhere")
    }
}

// DESIGN.md, "Collecting": the reserve is there so that room can be made, and apps start, where there is none.
@Suite("A quota that is used up, which the disk does not show") struct UsedUpQuotaTests {
    @Test(arguments: [
        "retire", "collect", "activate", "activate later", "boot", "roll back", "protect", "trust",
    ])
    func `takes the reserve for what makes room, and for what starts the app`(
        _ verb: String
    ) throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        for version in ["2", "3"] { try temporary.add(version, ["a": version]) }
        for version in ["1", "2"] {
            _ = try temporary.versions.activate(version)
            let boot = try temporary.versions.boot()
            _ = try temporary.versions.confirm(version, token: boot.token)
        }
        let reserve = temporary.path + "/reserve"
        expect(access(reserve, F_OK), equals: 0)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: QuotaDisk(reserve: reserve))
        switch verb {
        case "retire": try versions.retire("3")
        case "collect": try versions.store.collect()
        case "activate": _ = try versions.activate("3")
        case "activate later": try versions.activateAtNextBoot("3")
        case "boot":
            // The lock of the first start ever is made by it.
            unlink(temporary.path + "/leases/.start")
            _ = try versions.boot()
        case "roll back": _ = try versions.rollback(reason: "it is broken")
        case "protect": _ = try versions.protect("3")
        default: _ = try versions.changeTrust { $0.origins = [] }
        }
        let lifecycle = try versions.lifecycle()
        expect(
            lifecycle.current, equals: verb == "roll back" ? "1" : verb == "activate" ? "3" : "2")
        // When there is room again, it is set aside again.
        _ = try temporary.versions.store.collect()
        try expect(temporary.versions.check().findings, equals: [])
    }
}
