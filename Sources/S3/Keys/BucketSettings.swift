package import Platform
import Storage

/// What a user and the environment say of a bucket's place and keys.
///
/// It follows the conventions of AWS's own tools, so that what works with them works here.
package struct BucketSettings: Sendable {
    /// The value of `--endpoint`.
    package var endpoint: String?
    /// The value of `--region`.
    package var region: String?
    /// The value of `--profile`.
    package var profile: String?
    /// Whether nothing is signed (`--anonymous`).
    package var isAnonymous = false
    /// The value of an environment variable; `nil` if it is not set.
    package var environment: @Sendable (String) -> String?
    package var fileSystem: any FileSystem = POSIXFileSystem()

    package init(environment: @escaping @Sendable (String) -> String?) {
        self.environment = environment
    }

    func variable(_ name: String) -> String? {
        guard let value = environment(name), !value.isEmpty else { return nil }
        return value
    }

    /// The certificates to trust instead of the system's: the file of `AWS_CA_BUNDLE`, unless that is empty.
    package var certificatesFile: String? { variable("AWS_CA_BUNDLE") }

    /// The settings for one of two buckets: a profile in its name takes precedence, even over `--anonymous`.
    package func settings(of location: BucketLocation) -> BucketSettings {
        guard let profile = location.profile else { return self }
        var settings = self
        (settings.profile, settings.isAnonymous) = (profile, false)
        return settings
    }

    /// Where the requests go.
    ///
    /// The endpoint is that of the location, of `--endpoint`, of `AWS_ENDPOINT_URL_S3`, of `AWS_ENDPOINT_URL`, of the
    /// profile, or that of AWS in the region; the region that of the location, of `--region`, of `AWS_REGION`, of
    /// `AWS_DEFAULT_REGION`, of the profile, or `us-east-1`.
    /// - Throws: `.badOrigin` if one of them is invalid; `.credentials` if the profiles cannot be read.
    package func endpoint(of location: BucketLocation) throws(StoreError) -> BucketEndpoint {
        let profiles = try Profiles(self)
        let endpoint =
            location.endpoint ?? endpoint ?? variable("AWS_ENDPOINT_URL_S3")
            ?? variable("AWS_ENDPOINT_URL") ?? profiles.endpoint
        let region =
            location.region ?? region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
            ?? profiles["region"]
        return try BucketEndpoint(bucket: location.bucket, endpoint: endpoint, region: region)
    }
}

/// The profile that counts, from both files.
struct Profiles {
    let name: String
    let isNamed: Bool
    private let credentials: ProfileFile
    private let config: ProfileFile

    /// - Throws: `.credentials` if a file cannot be read, or no file has the named profile.
    init(_ settings: BucketSettings) throws(StoreError) {
        let named = settings.profile ?? settings.variable("AWS_PROFILE")
        let isNamed = named != nil
        name = named ?? "default"
        self.isNamed = isNamed
        let home = settings.variable("HOME")
        func file(_ variable: String, _ name: String) throws(StoreError) -> ProfileFile {
            let usual = home.map { "\($0)/.aws/\(name)" }
            guard let path = settings.variable(variable) ?? usual else { return ProfileFile() }
            do throws(StoreError) {
                return try ProfileFile(at: path, settings.fileSystem)
            } catch {
                // Another user's HOME, say: nobody asked for that file, and the keys are here.
                let hasKeys =
                    settings.isAnonymous || settings.variable("AWS_ACCESS_KEY_ID") != nil
                guard hasKeys, !isNamed, path == usual else { throw error }
                return ProfileFile()
            }
        }
        credentials = try file("AWS_SHARED_CREDENTIALS_FILE", "credentials")
        config = try file("AWS_CONFIG_FILE", "config")
        if isNamed, !credentials.has(name), !config.has(name) {
            throw StoreError(
                .credentials,
                "there is no profile \(printable(name)) in ~/.aws/config and ~/.aws/credentials")
        }
    }

    subscript(key: String) -> String? { credentials[name, key] ?? config[name, key] }

    /// The profile's endpoint, or that of the services that it names.
    var endpoint: String? {
        if let services = self["services"],
            let endpoint = config["services \(services)", "s3.endpoint_url"]
        {
            return endpoint
        }
        return self["endpoint_url"]
    }
}
