/// Protects objects that a running writer relies on from the collector.
///
/// A lease is a file in `leases/` that is locked by the process (flock(2)) and lists the addresses that the writer
/// relies on. The kernel releases the lock however the process ends, so a lease cannot outlive its writer; the next
/// writer finds the file unlocked and cleans up. It needs no sync: a power cut ends every lease.
package struct Lease: ~Copyable, Sendable {
    package let name: String
    private let store: Store
    let file: Descriptor

    init(_ name: String, _ file: consuming Descriptor, _ store: Store) {
        self.name = name
        self.file = file
        self.store = store
    }

    deinit {
        // What cannot be removed now is left to the next writer, which finds the lock free.
        try? store.endLease(name)
    }
}

extension Store {
    /// Takes a lease, after cleaning up behind writers that died.
    /// - Throws: `.writesRefused` after a failed sync, `.readOnly`, `.outOfSpace`, `.permission`.
    package func makeLease() throws(StoreError) -> Lease {
        try checkWritable()
        try recoverDeadLeases()
        let leases = directories.leases.raw
        while true {
            let name = "\(processIdentifier())-\(try randomToken())"
            // Lock it under another name first: a lease is never visible and unlocked.
            let aside = StoreLayout.newLease(name)
            let file = try openLease(making: aside)
            guard try fileSystem.lock(file.raw, exclusive: true) else { continue }
            do throws(StoreError) {
                try fileSystem.rename(leases, aside, to: leases, name)
            } catch {
                // A cleaner removed the file between its creation and its lock.
                guard error.code == .notFound else { throw error }
                continue
            }
            return Lease(name, file, self)
        }
    }

    private func openLease(making name: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.open(directories.leases.raw, name, .updating, mode: 0o600)
        } catch { throw explained(error) }
    }

    func endLease(_ name: String) throws(StoreError) {
        if try isClean(name) {
            try fileSystem.removeTree(directories.staging.raw, name)
        } else {
            // The work was given up half-way; what it published is recorded, so that it can be collected.
            try recover(name)
        }
        try fileSystem.removeIfPresent(directories.leases.raw, name)
    }

    private func isClean(_ lease: String) throws(StoreError) -> Bool {
        let staging = try fileSystem.openIfPresent(directories.staging.raw, lease, .directory)
        guard let staging else { return true }
        return try fileSystem.isEmpty(staging.raw)
    }

    /// Lists addresses that the writer relies on: from now on no collector deletes them.
    ///
    /// A collector reads the reservations while it alone may write. Waiting for that lock ensures that any collector
    /// that has not read this reservation has finished: what exists afterwards stays.
    func reserve(
        count: Int, _ address: (Int) -> ObjectID, lease: borrowing Lease
    ) throws(StoreError) {
        // Never grows: while an array grows, two copies of it exist.
        let capacity = 32 * 1024
        var buffer: [UInt8] = []
        buffer.reserveCapacity(min(capacity, count * 32))
        for position in 0..<count {
            address(position).withBytes { buffer.append(contentsOf: $0) }
            if buffer.count >= capacity || position == count - 1 {
                try fileSystem.write(lease.file.raw, buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        try index { (index) throws(StoreError) in try index.locks.waitForWriters() }
    }

    func reservedAddresses() throws(StoreError) -> Set<ObjectID> {
        try reservedAddresses(by: leaseFiles())
    }

    func reservedAddresses(by leases: [String]) throws(StoreError) -> Set<ObjectID> {
        var reserved: Set<ObjectID> = []
        for name in leases {
            let opened: Descriptor?
            do throws(StoreError) { opened = try openLease(name) } catch {
                // Another user's lease without a living holder reserves nothing.
                guard error.isOfOneName, try !isHeldUnopened(name) else { throw error }
                continue
            }
            guard let file = opened else { continue }
            let count = Int(try fileSystem.status(file.raw).byteCount)
            let bytes = try fileSystem.read(file.raw, at: 0, count: count)
            bytes.withUnsafeBytes { bytes in
                // A record that is being written is not relied on yet.
                for start in stride(from: 0, to: bytes.count - 31, by: 32) {
                    reserved.insert(
                        ObjectID(unchecked: UnsafeRawBufferPointer(rebasing: bytes[start...])))
                }
            }
        }
        return reserved
    }

    package func leases() throws(StoreError) -> (running: [String], dead: [String]) {
        var running: [String] = []
        var dead: [String] = []
        for name in try leaseFiles() where !name.hasPrefix(".") {
            if try withDeadLease(name, { () throws(StoreError) in }) {
                dead.append(name)
            } else {
                running.append(name)
            }
        }
        return (running, dead)
    }

    func leaseFiles() throws(StoreError) -> [String] {
        try fileSystem.names(in: directories.leases.raw) { (name, _) in
            !name.hasPrefix(".") || StoreLayout.isNewLease(name)
        }
    }

    /// Runs `body` while holding the lock of a lease whose writer has ended.
    /// - Returns: `false` if the writer runs, or another process is already cleaning up.
    func withDeadLease(
        _ name: String, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        let opened: Descriptor?
        do throws(StoreError) { opened = try openLease(name) } catch {
            // Another user's: it cannot be locked, and cleaning up twice does no harm.
            guard error.isOfOneName, try !isHeldUnopened(name) else { throw error }
            try body()
            return true
        }
        guard let file = opened else { return false }
        guard try fileSystem.lock(file.raw, exclusive: true) else { return false }
        // The owner may have renamed or removed the file between open and lock.
        guard let here = try fileSystem.status(directories.leases.raw, name),
            here.isSameFile(as: try fileSystem.status(file.raw))
        else { return false }
        try body()
        return true
    }

    /// Opens a lease's file; `nil` if it is gone, or if something other than a file has its name.
    private func openLease(_ name: String) throws(StoreError) -> Descriptor? {
        let leases = directories.leases.raw
        guard let status = try fileSystem.status(leases, name), status.kind == .regular else {
            return nil
        }
        return try fileSystem.openIfPresent(leases, name, .reading)
    }
}
