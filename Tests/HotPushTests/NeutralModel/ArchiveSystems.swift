import HotPush
import StorageTestSupport

/// CodePush: an archive, the digests of its files, differences to earlier packages, and a JWT over the
/// digest of all.
enum CodePush: ForeignSystem {
    static let documents = [
        #"""
        {"label":"v2","description":"d","is_disabled":false,"is_mandatory":true,"target_binary_range":"1.x",
        "rollout":25,"package_size":283,"download_url":"https://h.example/x.zip","package_hash":
        "9e0499ce7df5c04cb304c9deed684dc137fc603cb484a5b027478143c595d80b","files":[
        "b.txt:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
        "c.txt:2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"],
        "diffs":{"18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4":
        {"url":"https://h.example/d.zip","size":91}},"codepushrelease":"eyJ.eyJ.c2ln",
        "is_available":true,"should_run_binary_version":false,"update_app_version":false}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        let label = try document.text("label")
        var release = try empty(label)
        release.order = Int64(label.dropFirst())
        release.isMandatory = document["is_mandatory"]?.asBool ?? false
        release.audience.isDisabled = document["is_disabled"]?.asBool ?? false
        if let share = document["rollout"]?.asInt64 {
            release.audience.rollout = Rollout(
                perMille: Int(share) * 10, salt: label, rule: "codepush")
        }
        release.require(Requirement.appVersionRange, document.maybe("target_binary_range"))
        release.foreign = document.kept(
            "description", "package_hash", "is_available", "should_run_binary_version",
            "update_app_version")
        if let token = document.maybe("codepushrelease") {
            release.signatures = [Signature("RS256", of: .document, text: token)]
        }
        for line in document.elements("files") {
            let parts = try require(line.asString).split(separator: ":").map(String.init)
            var file = ReleaseFile(path: try TreePath(parts[0]))
            try file.check(.sha256, hex: parts[1])
            file.address = ObjectID(parts[1])
            file.sources = []
            for diff in document["diffs"]?.asObject ?? [] {
                var source = ContentSource(try diff.value.text("url"))
                source.byteCount = diff.value["size"]?.asInt64
                source.steps = [
                    .patch("codepush", of: .init(version: diff.key)),
                    .extract("zip", path: parts[0]),
                ]
                file.sources.append(source)
            }
            var whole = ContentSource(try document.text("download_url"))
            whole.byteCount = document["package_size"]?.asInt64
            whole.steps = [.extract("zip", path: parts[0])]
            file.sources.append(whole)
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let first = try require(release.files.first)
        let whole = try require(first.sources.last)
        let diffs: [JSONValue.Member] = first.sources.compactMap { source in
            guard case .patch(_, let base) = source.steps[0] else { return nil }
            let value: JSONValue = .members([
                "url": .string(source.reference), "size": source.byteCount.map(JSONValue.integer),
            ])
            return .init(key: base.version ?? "", value: value)
        }
        return .members([
            "label": .string(release.version.description),
            "description": release.foreign("description"),
            "is_disabled": .bool(release.audience.isDisabled),
            "is_mandatory": .bool(release.isMandatory),
            "target_binary_range": .text(release.requirement(Requirement.appVersionRange)),
            "rollout": release.audience.rollout.map { .integer(Int64($0.perMille / 10)) },
            "package_size": whole.byteCount.map(JSONValue.integer),
            "download_url": .string(whole.reference),
            "package_hash": release.foreign("package_hash"),
            "files": .list(release.files.map { "\($0.path.description):\($0.hex(.sha256) ?? "")" }),
            "diffs": .object(diffs),
            "codepushrelease": .text(release.signatures.first?.text),
            "is_available": release.foreign("is_available"),
            "should_run_binary_version": release.foreign("should_run_binary_version"),
            "update_app_version": release.foreign("update_app_version"),
        ])
    }
}

/// Pushy: differences to the version before and to the app's package, then the whole, each from several
/// hosts; files that are copies of others; checksums.
enum Pushy: ForeignSystem {
    static let documents = [
        #"""
        {"update":true,"name":"2.3.4","hash":"f00d","description":"d","metaInfo":"{}",
        "paths":["https://b.example/","https://a.example/cdn/"],"diff":"diff-1","pdiff":"p","full":"whole.ppk",
        "copies":{"img/b.png":"img/a.png"},"copiesCrc":{"img/a.png":907060870},
        "config":{"rollout":{"2.3.4":63,"2.3.5":7},"forceBoot":true}}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        let name = try document.text("name")
        var release = try empty(name, trust: .length)
        release.foreign = document.kept("update", "hash", "description", "metaInfo")
        let config = document["config"]
        let others = (config?["rollout"]?.asObject ?? []).filter { $0.key != name }
        release.foreign.append(.init(key: "otherRollouts", value: .object(others)))
        if let share = config?["rollout"]?[name]?.asInt64 {
            release.audience.rollout = Rollout(perMille: Int(share) * 10, salt: "", rule: "murmur3")
        }
        release.isMandatory = config?["forceBoot"]?.asBool ?? false
        for entry in document["copiesCrc"]?.asObject ?? [] {
            let copies = (document["copies"]?.asObject ?? []).filter {
                $0.value.asString == entry.key
            }
            for path in [entry.key] + copies.map(\.key) {
                var file = ReleaseFile(path: try TreePath(path))
                let sum = UInt32(try require(entry.value.asInt64))
                let bytes = (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
                file.checks = [.digest(try require(Label(.crc32, bytes: bytes)))]
                file.sources = try sources(document, entry.key)
                if path != entry.key {
                    file.foreign = [.init(key: "copyOf", value: .string(entry.key))]
                }
                release.files.append(file)
            }
        }
        return release
    }

    private static func sources(_ document: JSONValue, _ path: String) throws -> [ContentSource] {
        var sources: [ContentSource] = []
        let bases = [("diff", document.maybe("hash")), ("pdiff", "embedded"), ("full", nil)]
        for (kind, base) in bases {
            for host in document.elements("paths") {
                var source = ContentSource((host.asString ?? "") + (try document.text(kind)))
                if let base { source.steps = [.patch("hdiff", of: .init(version: base))] }
                source.steps.append(.extract("ppk", path: path))
                sources.append(source)
            }
        }
        return sources
    }

    static func write(_ release: Release) throws -> JSONValue {
        let first = try require(release.files.first)
        let places = first.sources.map { source in
            let end = source.reference.lastIndex(of: "/") ?? source.reference.startIndex
            return (
                host: String(source.reference[...end]),
                name: String(source.reference[end...].dropFirst())
            )
        }
        let hosts = places.prefix(places.count / 3).map(\.host)
        func name(_ kind: Int) -> JSONValue { .string(places[kind * hosts.count].name) }
        let copies: [JSONValue.Member] = release.files.compactMap { file in
            file.foreign("copyOf").map { .init(key: file.path.description, value: $0) }
        }
        let originals = release.files.filter { $0.foreign("copyOf") == nil }
        let sums = originals.map { file in
            let bytes = file.digest(.crc32) ?? []
            return JSONValue.Member(
                key: file.path.description,
                value: .integer(bytes.reduce(0) { $0 << 8 | Int64($1) }))
        }
        let share = release.audience.rollout.map { JSONValue.integer(Int64($0.perMille / 10)) }
        return .members([
            "update": release.foreign("update"), "name": .string(release.version.description),
            "hash": release.foreign("hash"), "description": release.foreign("description"),
            "metaInfo": release.foreign("metaInfo"), "paths": .list(hosts), "diff": name(0),
            "pdiff": name(1), "full": name(2), "copies": .object(copies),
            "copiesCrc": .object(sums),
            "config": .members([
                "rollout": .object(
                    (share.map { [.init(key: release.version.description, value: $0)] } ?? [])
                        + (release.foreign("otherRollouts")?.asObject ?? [])),
                "forceBoot": .bool(release.isMandatory),
            ]),
        ])
    }
}

/// Shorebird: one file, compressed and a difference to what the app was shipped with.
enum Shorebird: ForeignSystem {
    static let documents = [
        #"""
        {"patch_available":true,"patch":{"number":7,
        "hash":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "download_url":"https://h.example/p7","hash_signature":"c2lnbmVk"},
        "rolled_back_patch_numbers":[2,5]}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        let patch = try require(document["patch"])
        let number = try require(patch["number"]?.asInt64)
        var release = try empty(String(number))
        release.order = number
        release.foreign = document.kept("patch_available", "rolled_back_patch_numbers")
        var source = ContentSource(try patch.text("download_url"))
        source.steps = [.decompress("zstd"), .patch("bidiff", of: .init(version: "embedded"))]
        var file = ReleaseFile(path: try TreePath("libapp.so"))
        file.sources = [source]
        try file.check(.sha256, hex: try patch.text("hash"))
        if let text = patch.maybe("hash_signature") {
            file.signature = Signature("rsa-v1_5-sha256", of: .file, text: text)
        }
        release.files = [file]
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let file = try require(release.files.first)
        return .members([
            "patch_available": release.foreign("patch_available"),
            "patch": .members([
                "number": release.order.map(JSONValue.integer), "hash": .text(file.hex(.sha256)),
                "download_url": .string(file.sources[0].reference),
                "hash_signature": .text(file.signature?.text),
            ]),
            "rolled_back_patch_numbers": release.foreign("rolled_back_patch_numbers"),
        ])
    }
}
