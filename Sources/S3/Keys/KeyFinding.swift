package import Platform
import Storage

extension BucketSettings {
    /// The source of the keys: the first of these that exists.
    ///
    /// 1. `--anonymous`: none.
    /// 2. The profile of `--profile`.
    /// 3. `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`.
    /// 4. The profile of `AWS_PROFILE`, or `default`.
    /// 5. `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`, `AWS_CONTAINER_CREDENTIALS_FULL_URI`.
    /// 6. The instance's metadata, version 2, unless `AWS_EC2_METADATA_DISABLED` is `true`.
    ///
    /// The last two are asked when keys are first needed.
    /// - Throws: `.credentials` if keys are incomplete, or come from a source that castree does not support.
    package func keySource(_ carrier: any BucketCarrier) throws(StoreError) -> any KeySource {
        if isAnonymous { return FixedKeys(nil) }
        if profile != nil { return FixedKeys(try profileKeys(isRequired: true)) }
        if let keys = try environmentKeys() { return FixedKeys(keys) }
        if let keys = try profileKeys(isRequired: variable("AWS_PROFILE") != nil) {
            return FixedKeys(keys)
        }
        if variable("AWS_WEB_IDENTITY_TOKEN_FILE") != nil {
            throw Self.foreign("AWS_WEB_IDENTITY_TOKEN_FILE", of: nil)
        }
        if let container = try ContainerKeys(self, carrier) { return RenewedKeys(container.fetch) }
        guard variable("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else {
            throw Self.noKeys
        }
        return RenewedKeys(InstanceKeys(self, carrier).fetch)
    }

    private func environmentKeys() throws(StoreError) -> AccessKeys? {
        guard let id = variable("AWS_ACCESS_KEY_ID") else { return nil }
        guard let secret = variable("AWS_SECRET_ACCESS_KEY") else {
            throw StoreError(
                .credentials, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not")
        }
        return AccessKeys(id: id, secret: secret, sessionToken: variable("AWS_SESSION_TOKEN"))
    }

    private func profileKeys(isRequired: Bool) throws(StoreError) -> AccessKeys? {
        let profile = try Profiles(self)
        if profile["role_arn"] != nil { throw Self.foreign("role_arn", of: profile.name) }
        if let id = profile["aws_access_key_id"] {
            guard let secret = profile["aws_secret_access_key"] else {
                throw StoreError(
                    .credentials,
                    "profile \(printable(profile.name)) has an aws_access_key_id and no "
                        + "aws_secret_access_key")
            }
            return AccessKeys(id: id, secret: secret, sessionToken: profile["aws_session_token"])
        }
        for source in [
            "sso_session", "sso_start_url", "sso_account_id", "credential_process",
            "web_identity_token_file", "login_session",
        ] where profile[source] != nil { throw Self.foreign(source, of: profile.name) }
        guard isRequired else { return nil }
        throw StoreError(
            .credentials, "profile \(printable(profile.name)) has no aws_access_key_id")
    }

    private static func foreign(_ source: String, of profile: String?) -> StoreError {
        let whose = profile.map { "profile \(printable($0)) takes its keys from" } ?? "keys come by"
        let option = profile.map { " --profile \(printable($0))" } ?? ""
        return StoreError(
            .credentials,
            "\(whose) \(source), where castree does not look; put them into the environment: "
                + "eval \"$(aws configure export-credentials\(option) --format env)\"")
    }

    static var noKeys: StoreError {
        StoreError(
            .credentials,
            "no access keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile "
                + "(--profile), or say --anonymous if the bucket is public")
    }
}
