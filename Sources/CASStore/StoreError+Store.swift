public import Platform

extension StoreError.Code {
    /// There is no store at the path.
    public static let noStore = Self("noStore")
    /// A store exists where none may.
    public static let storeExists = Self("storeExists")
    /// The store was written by a newer castree, or its FORMAT file is invalid.
    public static let unsupportedFormat = Self("unsupportedFormat")
    /// An object that a version needs does not exist.
    public static let missingObject = Self("missingObject")
    /// The store belongs to another user.
    public static let notOwner = Self("notOwner")
    /// An earlier sync failed: this store takes no more writes until it is reopened.
    public static let writesRefused = Self("writesRefused")
    /// The index cannot be used and could not be rebuilt.
    public static let index = Self("index")
    /// Another process has held a lock of the store for longer than `StoreOptions.waitLimit`.
    public static let locked = Self("locked")
    /// A version of that name is registered with other content.
    public static let versionExists = Self("versionExists")
    /// There is no such version.
    public static let noVersion = Self("noVersion")

    /// Ends a transaction whose basis has changed; never leaves the package.
    package static let lost = Self("lost")
}

extension StoreError {
    package static var interruption: StoreError {
        StoreError(.interrupted, "interrupted; what was acknowledged is kept")
    }

    package static func damagedObject(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "the bytes of object \(address) do not match its address; "
                + "run castree fsck --repair, then add or pull the content again",
            object: address)
    }

    package static func editedManifest(_ name: String) -> String {
        "the manifest of version \(name) is not the one that was registered: put that one back "
            + "from a copy, add the same content again (enough if an add was cut short), or retire the "
            + "version and add or pull it again; if the manifest is right as it is now, delete the "
            + "store's index, which is then made again"
    }

    package static func noVersion(_ name: String) -> StoreError {
        StoreError(
            .noVersion, "there is no version \"\(printable(name))\"; castree versions lists them")
    }

    package static func versionExists(_ name: String) -> StoreError {
        StoreError(
            .versionExists,
            "version \(name) exists with other content; choose another name, or retire it first")
    }
}

/// The value of an expression; `nil` if it throws an allowed error.
@discardableResult
package func allowing<R: ~Copyable>(
    _ isAllowed: (StoreError) -> Bool, _ value: @autoclosure () throws(StoreError) -> R?
) throws(StoreError) -> R? {
    do throws(StoreError) {
        return try value()
    } catch {
        guard isAllowed(error) else { throw error }
        return nil
    }
}
