import CASStore

// The lock of an origin: one changes it, or some look at it.

extension OriginWriter {
    /// Waits for the lock, unless the options say not to.
    ///
    /// - Parameter isOnlyLooking: whether to share it with others who look; then it is not made.
    static func takeLock(
        _ work: Int32, _ path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem,
        isOnlyLooking: Bool = false
    ) throws(StoreError) -> Descriptor {
        var hasSaidSo = false
        while true {
            let file = try fileSystem.open(
                work, OriginLayout.lock, isOnlyLooking ? .reading : .updating, mode: fileMode)
            while try !fileSystem.lock(file.raw, exclusive: !isOnlyLooking) {
                guard options.waitsForOthers else {
                    throw StoreError(
                        .busy,
                        "another publisher is at work in \(printable(path)); "
                            + "repeat the command when it has finished")
                }
                if !hasSaidSo {
                    options.notice(
                        "another publisher is at work in \(printable(path)); waiting for it")
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
            guard [.notFound, .permission, .readOnly].contains(error.code) else { throw error }
            return try fileSystem.open(work, ".", .directory, mode: 0)
        }
    }
}
