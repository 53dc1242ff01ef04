public import Platform

extension StoreError.Code {
    /// There is no store at the path.
    public static let noStore = Self("noStore")
    /// A store exists where none may.
    public static let storeExists = Self("storeExists")
    /// The store was written by a newer castree, or its FORMAT file is not one.
    public static let unsupportedFormat = Self("unsupportedFormat")
    /// An object's bytes on disk are not what its address says.
    public static let damagedObject = Self("damagedObject")
    /// An object that a version needs is not there.
    public static let missingObject = Self("missingObject")
    /// The store belongs to another user.
    public static let notOwner = Self("notOwner")
    /// An earlier sync failed: this store takes no more writes until it is opened again.
    public static let writesRefused = Self("writesRefused")
    /// The index cannot be used and could not be rebuilt.
    public static let index = Self("index")
    /// Another process is at this very piece of work, or undoes it over and over.
    public static let busy = Self("busy")
    /// Another process has had a lock of the store for longer than `StoreOptions.waitLimit`.
    public static let locked = Self("locked")
}
