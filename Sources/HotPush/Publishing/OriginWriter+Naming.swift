import CASStore

// How a file of the origin gets its name and loses it, whatever stands there.

extension OriginWriter {
    /// Gives a finished file its name, and replaces what stands there; a directory, which nothing replaces, is set aside.
    func rename(
        _ source: Int32, _ staged: UnsafePointer<CChar>, to target: Int32,
        _ name: UnsafePointer<CChar>
    ) throws(StoreError) {
        try share(source, staged)
        do throws(StoreError) {
            try fileSystem.rename(source, staged, to: target, name)
        } catch {
            guard try originPlace.setAside(target, name) else { throw error }
            try fileSystem.rename(source, staged, to: target, name)
        }
    }

    /// Deletes a file, if it is there; a directory in its place is set aside.
    func removeIfPresent(
        _ directory: Int32, _ name: UnsafePointer<CChar>
    ) throws(StoreError) {
        do throws(StoreError) {
            try fileSystem.removeIfPresent(directory, name)
        } catch {
            guard try originPlace.setAside(directory, name) else { throw error }
        }
    }
}

extension OriginPlace {
    /// Puts a directory that stands in place of a file among the publisher's own, and says so: what is in it is somebody's.
    ///
    /// - Returns: whether it was one.
    func setAside(
        _ directory: Int32, _ name: UnsafePointer<CChar>
    ) throws(StoreError) -> Bool {
        guard try fileSystem.status(directory, name)?.kind == .directory else { return false }
        let aside = "aside-\(try randomToken())"
        try fileSystem.move(directory, name, to: root, "\(OriginLayout.work)/\(aside)")
        notice(
            "a directory stood in place of \(printable(String(cString: name))) in \(printable(path)); it is "
                + "\(OriginLayout.work)/\(aside) now, and castree does not need it")
        return true
    }
}
