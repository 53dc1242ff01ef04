import HotPush
import StorageTestSupport

/// hot-updater: cohorts, fingerprints, a difference to an earlier file that is named by its digest.
enum HotUpdater: ForeignSystem {
    static let documents = [
        #"""
        {"id":"0195a408-8f13-7d9b-8df4-123456789abc","platform":"ios","channel":"production","enabled":false,
        "shouldForceUpdate":true,"message":"m","fingerprintHash":"fp1","targetAppVersion":"1.x",
        "rolloutCohortCount":309,"targetCohorts":["7","qa"],"manifestFileHash":"sig:bWFuaWZlc3Q=","assets":{
        "index.ios.bundle":{"fileHash":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "signature":"c2ln","file":{"url":"https://h.example/i.br","compression":"br"},"patch":
        {"algorithm":"bsdiff","baseBundleId":"0195a000-0000-7000-8000-000000000000","baseFileHash":
        "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7","patchFileHash":
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d","patchUrl":"https://h.example/p"}}}}
        """#,
        #"""
        {"id":"0195a408-8f13-7d9b-8df4-123456789abd","platform":"android","channel":"beta","enabled":true,
        "shouldForceUpdate":false,"message":null,"targetAppVersion":"*","rolloutCohortCount":1000,
        "targetCohorts":[],"fileUrl":"https://h.example/b.zip","fileHash":
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","manifestFileHash":
        "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7","assets":{"app.js":{"fileHash":
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","file":
        {"url":"https://h.example/app.js"}}}}
        """#,
    ]

    static func read(_ document: JSONValue) throws -> Release {
        let id = try document.text("id")
        var release = try empty(id)
        // The milliseconds of a UUID of version 7 (RFC 9562, section 5.7).
        release.order = Int64(id.filter { $0 != "-" }.prefix(12), radix: 16)
        release.scope = document.maybe("channel")
        release.isMandatory = document["shouldForceUpdate"]?.asBool ?? false
        release.audience.isDisabled = document["enabled"]?.asBool == false
        release.audience.groups = document.elements("targetCohorts").compactMap(\.asString)
        if let count = document["rolloutCohortCount"]?.asInt64 {
            release.audience.rollout = Rollout(perMille: Int(count), salt: id, rule: "hot-updater")
        }
        release.require(Requirement.fingerprint, document.maybe("fingerprintHash"))
        release.require(Requirement.appVersionRange, document.maybe("targetAppVersion"))
        release.foreign = document.kept("platform", "message", "fileUrl", "fileHash")
        let hash = try document.text("manifestFileHash")
        if hash.hasPrefix("sig:") {
            release.signatures = [
                Signature("rsa-v1_5-sha256", of: .document, text: String(hash.dropFirst(4)))
            ]
        } else {
            release.foreign += document.kept("manifestFileHash")
        }
        for entry in document["assets"]?.asObject ?? [] {
            release.files.append(try file(entry.key, entry.value))
        }
        return release
    }

    private static func file(_ path: String, _ asset: JSONValue) throws -> ReleaseFile {
        var file = ReleaseFile(path: try TreePath(path))
        file.address = ObjectID(try asset.text("fileHash"))
        file.signature = asset.maybe("signature").map {
            Signature("rsa-v1_5-sha256", of: .file, text: $0)
        }
        let whole = try require(asset["file"])
        var large = ContentSource(try whole.text("url"))
        if let compression = whole.maybe("compression") { large.steps = [.decompress(compression)] }
        file.sources = [large]
        guard let patch = asset["patch"] else { return file }
        let base = ContentSource.Base(
            version: patch.maybe("baseBundleId"),
            digest: Label(.sha256, hex: try patch.text("baseFileHash")))
        var small = ContentSource(try patch.text("patchUrl"))
        small.steps = [.patch(try patch.text("algorithm"), of: base)]
        let digest = try require(Label(.sha256, hex: try patch.text("patchFileHash")))
        small.checks = [.digest(digest)]
        file.sources.insert(small, at: 0)
        return file
    }

    static func write(_ release: Release) throws -> JSONValue {
        let count = release.audience.rollout.map { JSONValue.integer(Int64($0.perMille)) }
        return .members([
            "id": .string(release.version.description), "platform": release.foreign("platform"),
            "channel": .text(release.scope), "enabled": .bool(!release.audience.isDisabled),
            "shouldForceUpdate": .bool(release.isMandatory), "message": release.foreign("message"),
            "fingerprintHash": .text(release.requirement(Requirement.fingerprint)),
            "targetAppVersion": .text(release.requirement(Requirement.appVersionRange)),
            "rolloutCohortCount": count, "targetCohorts": .list(release.audience.groups),
            "fileUrl": release.foreign("fileUrl"), "fileHash": release.foreign("fileHash"),
            "manifestFileHash": .text(release.signatures.first.map { "sig:" + $0.text })
                ?? release.foreign("manifestFileHash"),
            "assets": .object(
                try release.files.map {
                    .init(key: $0.path.description, value: try asset($0))
                }),
        ])
    }

    private static func asset(_ file: ReleaseFile) throws -> JSONValue {
        let large = try require(file.sources.last)
        return .members([
            "fileHash": .text(file.address?.description), "signature": .text(file.signature?.text),
            "file": .members([
                "url": .string(large.reference), "compression": .text(large.steps.first?.name),
            ]),
            "patch": file.sources.count > 1 ? patch(file.sources[0]) : nil,
        ])
    }

    private static func patch(_ small: ContentSource) -> JSONValue? {
        guard case .patch(let algorithm, let base) = small.steps[0],
            case .digest(let digest)? = small.checks.first
        else { return nil }
        return .members([
            "algorithm": .string(algorithm), "baseBundleId": .text(base.version),
            "baseFileHash": .text(base.digest.map { hexadecimal($0.bytes) }),
            "patchFileHash": .string(hexadecimal(digest.bytes)),
            "patchUrl": .string(small.reference),
        ])
    }
}

/// electron-updater: SHA-512 in Base64, a share of the users, chunks with digests of their own.
enum Electron: ForeignSystem {
    static let documents = [
        #"""
        {"version":"1.2.3","files":[{"url":"App-1.2.3.AppImage","sha512":
        "m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==","size":5,
        "blockMapSize":120,"blake2b":"77C8W6De/c95vuIIqueEFrhg"}],
        "releaseDate":"2024-01-01T00:00:00.000Z","stagingPercentage":10}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        var release = try empty(try document.text("version"))
        release.foreign = document.kept("releaseDate")
        if let share = document["stagingPercentage"]?.asInt64 {
            release.audience.rollout = Rollout(
                perMille: Int(share) * 10, salt: "", rule: "electron-updater")
        }
        for entry in document.elements("files") {
            var file = ReleaseFile(path: try TreePath(try entry.text("url")))
            file.byteCount = entry["size"]?.asInt64
            try file.check(.sha512, base64: try entry.text("sha512"))
            file.checks.append(
                .unknownDigest(algorithm: "blake2b-18", text: try entry.text("blake2b")))
            file.foreign = entry.kept("blockMapSize")
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let files = release.files.map { file in
            JSONValue.members([
                "url": .string(file.path.description),
                "sha512": .text(file.digest(.sha512).map { Base64.string($0) }),
                "size": file.byteCount.map(JSONValue.integer),
                "blockMapSize": file.foreign("blockMapSize"),
                "blake2b": .text(file.unknown("blake2b-18")),
            ])
        }
        let share = release.audience.rollout.map { JSONValue.integer(Int64($0.perMille / 10)) }
        return .members([
            "version": .string(release.version.description), "files": .array(files),
            "releaseDate": release.foreign("releaseDate"), "stagingPercentage": share,
        ])
    }
}

/// Workbox: revisions that mean nothing to anybody else, SRI, URLs with queries.
enum Workbox: ForeignSystem {
    static let documents = [
        #"""
        {"manifest":[{"url":"/index.html","revision":"5d41402a","integrity":
        "sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="},
        {"url":"/app.abcd1234.js","revision":null}]}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        var release = try empty("precache", trust: .length)
        for entry in document.elements("manifest") {
            let url = try entry.text("url")
            var file = ReleaseFile(path: try TreePath(String(url.dropFirst())))
            if let revision = entry.maybe("revision") {
                file.checks.append(.unknownDigest(algorithm: "revision", text: revision))
            } else {
                // The URL holds a hash of the content.
                file.hasImmutableSource = true
            }
            if let text = entry.maybe("integrity") {
                try file.check(.sha256, base64: String(text.dropFirst(7)))
            }
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let files = release.files.map { file in
            JSONValue.members([
                "url": .string("/" + file.path.description),
                "revision": .text(file.unknown("revision")) ?? .null,
                "integrity": .text(file.digest(.sha256).map { "sha256-" + Base64.string($0) }),
            ])
        }
        return .members(["manifest": .array(files)])
    }
}

/// The application cache of HTML 5, line by line: URLs without digests, fallbacks, what is never cached.
enum AppCache: ForeignSystem {
    static let documents = [
        #"""
        {"CACHE":["index.html","js/app.js?v=3"],"NETWORK":["*"],"FALLBACK":["/api /offline.html"]}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        var release = try empty("appcache", trust: .length)
        release.foreign = document.kept("NETWORK", "FALLBACK")
        for line in document.elements("CACHE") {
            let url = try require(line.asString)
            let path = url.prefix { $0 != "?" }
            var file = ReleaseFile(path: try TreePath(String(path)), source: url)
            if path != url { file.routes = ["/" + url] }
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        .members([
            "CACHE": .list(release.files.map { $0.sources[0].reference }),
            "NETWORK": release.foreign("NETWORK"), "FALLBACK": release.foreign("FALLBACK"),
        ])
    }
}
