package import Platform

extension StoreError.Code {
    /// The directory is no cache of this origin: it holds something else, or that of another one.
    package static let foreignCache = Self("foreignCache")
    /// A file that should be in the bucket is not, or has other bytes than its name says.
    package static let missingFromBucket = Self("missingFromBucket")
    /// Nobody knows what a channel offers: its pointer has not come from the bucket yet.
    package static let unseenChannel = Self("unseenChannel")
}
