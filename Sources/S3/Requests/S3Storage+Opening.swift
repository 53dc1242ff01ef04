package import Platform
import Storage

extension S3Storage {
    /// Makes the bucket that a user names, with endpoint, region and keys as their settings say.
    ///
    /// Nothing is asked of the store. Certificates to trust instead of the system's (`AWS_CA_BUNDLE`) are the
    /// carrier's.
    /// - Throws: `.badOrigin`, `.credentials`; see ``BucketSettings``.
    package convenience init(
        _ location: BucketLocation, _ settings: BucketSettings, carrier: any BucketCarrier,
        _ options: BucketOptions = BucketOptions()
    ) throws(StoreError) {
        let settings = settings.settings(of: location)
        self.init(
            location, at: try settings.endpoint(of: location),
            keys: try settings.keySource(carrier), carrier: carrier, options)
    }
}
