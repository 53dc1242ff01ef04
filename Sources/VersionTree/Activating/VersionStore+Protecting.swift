public import CASStore

// What somebody needs whom the lifecycle does not know: the version that a shell is served from, one that
// testers go back to.

extension VersionStore {
    /// Keeps a version: nobody retires it, and no policy, until ``unprotect(_:)``.
    /// - Returns: whether it was not protected before.
    /// - Throws: `.noVersion`.
    @discardableResult
    public func protect(_ name: String) throws(StoreError) -> Bool {
        let version = try VersionName(name).description
        // Under the lock of the lifecycle: nobody retires it meanwhile.
        return try changeLifecycle { (lifecycle) throws(StoreError) in
            guard try self.store.versionRow(version) != nil else {
                throw StoreError.noVersion(version)
            }
            return lifecycle.protected.insert(version).inserted
        }
    }

    /// Lets a version go its way again.
    /// - Throws: `.noVersion` if it is not protected.
    public func unprotect(_ name: String) throws(StoreError) {
        let version = try VersionName(name).description
        try changeLifecycle { (lifecycle) throws(StoreError) in
            guard lifecycle.protected.remove(version) != nil else {
                throw StoreError(
                    .noVersion, "version \"\(printable(version))\" is not protected")
            }
        }
    }
}
