public import CASStore

// For needs that the lifecycle does not know: the version that a shell is served from, or one that
// testers go back to.

extension VersionStore {
    /// Protects a version: neither a person nor a policy can retire it until ``unprotect(_:)``.
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

    /// Ends the protection of a version.
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
