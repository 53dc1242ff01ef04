import CASStore

// The lock of an origin: one changes it, or some look at it; and what those have left who died with it.

extension OriginWriter {
    /// Waits for the lock, unless the options say not to.
    ///
    /// - Parameter isOnlyLooking: whether to share it with others who look; then it is not made.
    static func takeLock(
        _ work: Int32, _ path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem,
        isOnlyLooking: Bool = false
    ) throws(StoreError) -> Descriptor {
        let began = SuspendingClock.now
        var hasSaidSo = false
        while true {
            let file = try fileSystem.open(
                work, OriginLayout.lock, isOnlyLooking ? .reading : .updating, mode: fileMode)
            if !isOnlyLooking { try fileSystem.closeLock(file.raw) }
            while try !fileSystem.lock(file.raw, exclusive: !isOnlyLooking) {
                let holder = LockHolder.find(of: try fileSystem.status(file.raw))
                let name = holder.process == nil ? "" : " (\(holder.description))"
                let sentence = "another publisher is at work in \(printable(path))\(name)"
                guard SuspendingClock.now - began < options.waitLimit else {
                    throw StoreError(
                        .busy, "\(sentence); repeat the command when it has finished")
                }
                if !hasSaidSo {
                    options.notice("\(sentence); waiting for it")
                    hasSaidSo = true
                }
                if options.isInterrupted() { throw interruption }
                pause(milliseconds: 50)
            }
            // Somebody may have removed the file: then its lock excludes nobody.
            if let here = try fileSystem.status(work, OriginLayout.lock),
                here.isSameFile(as: try fileSystem.status(file.raw))
            {
                return file
            }
        }
    }

    /// The lock as those have it who only look, or something that nobody locks.
    static func takeLockIfAllowed(
        _ work: Int32, _ path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try takeLock(work, path, options, fileSystem, isOnlyLooking: true)
        } catch {
            guard [.notFound, .readOnly].contains(error.code) || error.isOfPlace else {
                throw error
            }
            return try fileSystem.open(work, ".", .directory, mode: 0)
        }
    }

    /// Removes what dead publishers have left; what cannot be removed keeps nobody from publishing, or from taking back.
    static func dropLeftovers(
        in work: Int32, _ path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let stays = { (left: String, reason: StoreError) in
            options.notice(
                "\(OriginLayout.work)/\(printable(left)) in \(printable(path)) was left by a publisher that has ended, "
                    + "and stays: \(reason.message)")
        }
        if let reason = try fileSystem.removeLeftover(work, OriginLayout.staging) {
            stays(OriginLayout.staging, reason)
        }
        do throws(StoreError) {
            try PackingPlace.dropLeftovers(in: work, fileSystem, stays: stays)
        } catch {
            // Something else in place of the packers' lock: it matters to who packs.
            guard error.isOfPlace else { throw error }
            stays(OriginLayout.packingLock, error)
        }
    }
}
