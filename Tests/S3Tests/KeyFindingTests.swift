import BucketTestSupport

/// Where keys, endpoint and region come from.
@Suite struct KeyFindingTests {
    private let home = TemporaryDirectory()

    /// Settings with an environment and files below a home.
    private func settings(
        _ variables: [String: String] = [:], credentials: String? = nil, config: String? = nil
    ) throws -> BucketSettings {
        let files = POSIXFileSystem()
        let place = POSIXFileSystem.workingDirectory
        // A second call of a test finds the directory there.
        try? files.makeDirectory(place, home.appending(".aws"), mode: 0o700)
        for (name, text) in [("credentials", credentials), ("config", config)] {
            guard let text else { continue }
            _ = try home.file(Array(text.utf8), ".aws/\(name)")
        }
        let all = variables.merging(["HOME": home.path]) { given, _ in given }
        return BucketSettings { all[$0] }
    }

    private func keys(
        _ settings: BucketSettings, _ steps: [ScriptedCarrier.Step] = []
    ) throws -> AccessKeys? {
        try settings.keySource(ScriptedCarrier(steps)).keys(at: 1_764_000_000)
    }

    private func refusal(_ settings: BucketSettings) throws -> String {
        let error = expectRefusal(.credentials) { try keys(settings) }
        return error?.message ?? ""
    }

    private static let environment = [
        "AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s1", "AWS_SESSION_TOKEN": "t1",
    ]
    private static let credentials = """
        # a comment
        [default]
        aws_access_key_id = DEFAULT
        aws_secret_access_key=s2
        [ci]
        aws_access_key_id=CI
        aws_secret_access_key=s3
        aws_session_token = t3

        """

    @Test func `the environment comes before the profiles`() throws {
        let settings = try settings(Self.environment, credentials: Self.credentials)
        try expect(keys(settings), equals: AccessKeys(id: "ENV", secret: "s1", sessionToken: "t1"))
    }

    @Test
    func `with keys in the environment it does not matter that the usual files cannot be read`()
        throws
    {
        let (files, place) = (POSIXFileSystem(), POSIXFileSystem.workingDirectory)
        try files.makeDirectory(place, home.appending(".aws"), mode: 0o700)
        // A directory cannot be read by anybody, not even by root.
        try files.makeDirectory(place, home.appending(".aws/credentials"), mode: 0o700)
        try expect(keys(settings(Self.environment))?.id, equals: "ENV")
        // Whoever has none, or names a profile, is told which file it is.
        try expect(refusal(settings()).contains(".aws/credentials"))
        var named = try settings(Self.environment)
        named.profile = "ci"
        try expect(refusal(named).contains(".aws/credentials"))
    }

    @Test func `a profile is that of AWS_PROFILE, or default`() throws {
        try expect(keys(try settings(credentials: Self.credentials))?.id, equals: "DEFAULT")
        let named = try settings(["AWS_PROFILE": "ci"], credentials: Self.credentials)
        try expect(keys(named), equals: AccessKeys(id: "CI", secret: "s3", sessionToken: "t3"))
    }

    @Test func `keys may stand in the config, under profile and a name`() throws {
        let settings = try settings(
            ["AWS_PROFILE": "ci"],
            config: "[profile ci]\nregion = eu-west-1\naws_access_key_id = C\n"
                + "aws_secret_access_key = s\n")
        try expect(keys(settings)?.id, equals: "C")
    }

    @Test func `other files may be named`() throws {
        _ = try home.file(Array(Self.credentials.utf8), "elsewhere")
        let settings = try settings(["AWS_SHARED_CREDENTIALS_FILE": home.appending("elsewhere")])
        try expect(keys(settings)?.id, equals: "DEFAULT")
    }

    /// After it come no keys at all if that is asked for, a profile that an option names, and the environment.
    @Test func `a profile in the name of a bucket is for that bucket, before all else`() throws {
        var settings = try settings(Self.environment, credentials: Self.credentials)
        func id(_ text: String) throws -> String? {
            try keys(settings.settings(of: BucketLocation(parsing: text)))?.id
        }
        let (here, there) = ("s3://updates/app", "s3://elsewhere/app?profile=ci")
        try expect(id(here) == "ENV" && id(there) == "CI")
        settings.profile = "default"
        try expect(id(here) == "DEFAULT" && id(there) == "CI")
        settings.isAnonymous = true
        try expect(id(here) == nil && id(there) == "CI")
        let none = try settings.settings(of: BucketLocation(parsing: "s3://updates?profile=none"))
        try expect(refusal(none).contains("profile none"))
    }

    @Test func `half a key is refused`() throws {
        try expect(
            refusal(try settings(["AWS_ACCESS_KEY_ID": "ENV"]))
                .contains("AWS_SECRET_ACCESS_KEY is not"))
        try expect(
            refusal(try settings(credentials: "[default]\naws_access_key_id=a\n"))
                .contains("aws_secret_access_key"))
    }

    @Test(arguments: [
        "sso_session = work", "sso_start_url = https://x", "credential_process = /bin/x",
        "role_arn = arn:aws:iam::1:role/x",
    ])
    func `keys from elsewhere are refused by name, and how to get them`(_ line: String) throws {
        for profile in [nil, "ci"] {
            var settings = try settings(
                config: "[\(profile.map { "profile \($0)" } ?? "default")]\n\(line)\n")
            settings.profile = profile
            let message = try refusal(settings)
            expect(message.contains(line.prefix { $0 != " " }))
            expect(message.contains("aws configure export-credentials"))
        }
    }

    @Test(arguments: [
        (["AWS_WEB_IDENTITY_TOKEN_FILE": "/x"], "AWS_WEB_IDENTITY_TOKEN_FILE"),
        (["AWS_EC2_METADATA_DISABLED": "true"], "--anonymous"),
    ])
    func `a web identity is refused by name, and without any keys what to do is said`(
        _ variables: [String: String], _ word: String
    ) throws {
        try expect(refusal(try settings(variables)).contains(word))
    }

    // MARK: endpoint and region

    private static let places = """
        [default]
        region = eu-north-1
        endpoint_url = http://profile
        [profile local]
        services = here
        [services here]
        s3 =
          endpoint_url = http://services:9000
        dynamodb =
          endpoint_url = http://other

        """

    private func endpoint(
        _ settings: BucketSettings, _ text: String = "s3://updates/app"
    ) throws -> String {
        let place = try settings.endpoint(of: BucketLocation(parsing: text))
        return "\(place.origin) \(place.region)"
    }

    @Test func `the nearest endpoint and region count`() throws {
        var settings = try settings(config: Self.places)
        try expect(endpoint(settings), equals: "http://profile eu-north-1")
        settings = try self.settings([
            "AWS_ENDPOINT_URL": "http://any", "AWS_DEFAULT_REGION": "any-1",
        ])
        try expect(endpoint(settings), equals: "http://any any-1")
        settings = try self.settings([
            "AWS_ENDPOINT_URL": "http://any", "AWS_DEFAULT_REGION": "any-1",
            "AWS_ENDPOINT_URL_S3": "http://s3", "AWS_REGION": "near-1",
        ])
        try expect(endpoint(settings), equals: "http://s3 near-1")
        settings.endpoint = "http://option"
        settings.region = "option-1"
        try expect(endpoint(settings), equals: "http://option option-1")
        try expect(
            endpoint(settings, "s3://updates/app?endpoint=http://text&region=text-1"),
            equals: "http://text text-1")
    }

    @Test func `a profile may name services`() throws {
        var settings = try settings(config: Self.places)
        settings.profile = "local"
        try expect(endpoint(settings), equals: "http://services:9000 us-east-1")
    }

    @Test func `a file of certificates is named by a variable that is not empty`() throws {
        try expect(settings().certificatesFile == nil)
        try expect(settings(["AWS_CA_BUNDLE": ""]).certificatesFile == nil)
        try expect(settings(["AWS_CA_BUNDLE": "/ca.pem"]).certificatesFile, equals: "/ca.pem")
    }

    @Test func `without anything it is AWS`() throws {
        try expect(
            endpoint(try settings()), equals: "https://updates.s3.us-east-1.amazonaws.com us-east-1"
        )
    }
}
