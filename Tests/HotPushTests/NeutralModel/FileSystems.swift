import HotPush
import StorageTestSupport

/// Capgo: bodies that are compressed and encrypted, digests of what comes of them.
enum Capgo: ForeignSystem {
    static let documents = [
        #"""
        {"version":"1.2.3","url":"https://h.example/1.2.3.zip","checksum":"ab12","session_key":"",
        "manifest":[{"file_name":"assets/app.js.br",
        "file_hash":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "download_url":"https://h.example/o/2cf2.br"},{"file_name":"index.html",
        "file_hash":"486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7",
        "download_url":"https://h.example/o/486e"}],"link":null,"comment":"c"}
        """#,
        #"""
        {"version":"1.2.4","url":"https://h.example/1.2.4.zip","checksum":"ab12","session_key":"aXY=:a2V5",
        "manifest":[{"file_name":"index.html","file_hash":"bG9uZyBhbmQgZW5jcnlwdGVk",
        "download_url":"https://h.example/o/1"}],"link":null,"comment":null}
        """#,
    ]

    static func read(_ document: JSONValue) throws -> Release {
        var release = try empty(try document.text("version"))
        release.foreign = document.kept("url", "checksum", "session_key", "link", "comment")
        for entry in document.elements("manifest") {
            let name = try entry.text("file_name")
            let isCompressed = name.hasSuffix(".br")
            var file = ReleaseFile(
                path: try TreePath(isCompressed ? String(name.dropLast(3)) : name),
                source: try entry.text("download_url"))
            let hash = try entry.text("file_hash")
            if release.foreign("session_key")?.asString?.isEmpty == false {
                file.sources[0].steps.append(.decrypt("aes-128-cbc"))
                // Encrypted too: the format proves it, once it has decrypted it.
                file.checks = [.unknownDigest(algorithm: "rsa-sha256", text: hash)]
                release.trust = .length
            } else {
                file.address = ObjectID(hash)
            }
            if isCompressed { file.sources[0].steps.append(.decompress("br")) }
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let files = release.files.map { file in
            let isCompressed = file.sources[0].steps.contains(.decompress("br"))
            return JSONValue.members([
                "file_name": .string(file.path.description + (isCompressed ? ".br" : "")),
                "file_hash": .text(file.address?.description ?? file.unknown("rsa-sha256")),
                "download_url": .string(file.sources[0].reference),
            ])
        }
        return .members([
            "version": .string(release.version.description), "url": release.foreign("url"),
            "checksum": release.foreign("checksum"),
            "session_key": release.foreign("session_key"), "manifest": .array(files),
            "link": release.foreign("link"), "comment": release.foreign("comment"),
        ])
    }
}

/// cordova-hot-code-push: MD5, no sizes, the least native interface, and a list in an order that counts.
enum ChCP: ForeignSystem {
    static let documents = [
        #"""
        {"chcp.json":{"content_url":"https://h.example/www","release":"2015.09.01-13.30.35",
        "min_native_interface":5,"update":"resume","ios_identifier":"id123"},"chcp.manifest":[
        {"file":"css/app.css","hash":"5d41402abc4b2a76b9719d911017c592"},
        {"file":"a b.html","hash":"7d793037a0760186574b0282f2f435e7"}]}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        let config = try require(document["chcp.json"])
        var release = try empty(try config.text("release"))
        release.foreign = config.kept("content_url", "update", "ios_identifier")
        let least = config["min_native_interface"]?.asInt64
        release.require(Requirement.minimumNativeInterface, least.map { "\($0)" })
        for entry in document.elements("chcp.manifest") {
            let path = try entry.text("file")
            var file = ReleaseFile(
                path: try TreePath(path),
                source: try config.text("content_url") + "/" + PercentEncoding.name(path))
            try file.check(.md5, hex: try entry.text("hash"))
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let least = release.requirement(Requirement.minimumNativeInterface)
        return .members([
            "chcp.json": .members([
                "content_url": release.foreign("content_url"),
                "release": .string(release.version.description),
                "min_native_interface": least.map { .number($0) },
                "update": release.foreign("update"),
                "ios_identifier": release.foreign("ios_identifier"),
            ]),
            "chcp.manifest": .array(
                release.files.map { file in
                    .members([
                        "file": .string(file.path.description), "hash": .text(file.hex(.md5)),
                    ])
                }),
        ])
    }
}

/// Ionic: three digests of each file, whose spelling and order count.
enum Ionic: ForeignSystem {
    static let documents = [
        #"""
        {"snapshot":"s1","url":"https://h.example/m?token=t","manifest":[{"href":"index.html","size":5,
        "integrity":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ= sha384-WeF0h3dEjGnea4ANejO7+5/xtGPkQ1TDVTvNucZm+pASWjx5+QOXvfX2oT3oKGhP sha512-m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw=="}]}
        """#
    ]

    static func read(_ document: JSONValue) throws -> Release {
        var release = try empty(try document.text("snapshot"))
        release.foreign = document.kept("url")
        for entry in document.elements("manifest") {
            var file = ReleaseFile(path: try TreePath(try entry.text("href")))
            file.byteCount = entry["size"]?.asInt64
            for part in try entry.text("integrity").split(separator: " ") {
                let pair = part.split(separator: "-", maxSplits: 1).map(String.init)
                let algorithm = try require(DigestAlgorithm(rawValue: pair[0]))
                try file.check(algorithm, base64: pair[1])
            }
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let files = release.files.map { file in
            let parts: [String] = file.checks.compactMap { check in
                guard case .digest(let label) = check else { return nil }
                return "\(label.algorithm.rawValue)-\(Base64.string(label.bytes))"
            }
            return JSONValue.members([
                "href": .string(file.path.description),
                "size": file.byteCount.map(JSONValue.integer),
                "integrity": .string(parts.joined(separator: " ")),
            ])
        }
        return .members([
            "snapshot": .string(release.version.description), "url": release.foreign("url"),
            "manifest": .array(files),
        ])
    }
}

/// Capawesome: a channel, and a signature of each file.
enum Capawesome: ForeignSystem {
    static let documents = [
        #"""
        {"artifactType":"manifest","bundleId":"8b1d6f3a","channelName":"beta","customProperties":{"k":"v"},
        "url":"https://h.example/download","files":[{"href":"assets/app.js",
        "checksum":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","sizeInBytes":5,
        "X-Signature":"c2lnbmVk"}]}
        """#,
        #"""
        {"artifactType":"manifest","bundleId":"8b1d6f3b","channelName":null,"customProperties":{},
        "url":"https://h.example/download","files":[{"href":"index.html",
        "checksum":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","sizeInBytes":5}]}
        """#,
    ]

    static func read(_ document: JSONValue) throws -> Release {
        var release = try empty(try document.text("bundleId"))
        release.scope = document.maybe("channelName")
        release.foreign = document.kept("artifactType", "customProperties", "url")
        for entry in document.elements("files") {
            let path = try entry.text("href")
            var file = ReleaseFile(
                path: try TreePath(path), source: try document.text("url") + "?href=" + path)
            file.address = ObjectID(try entry.text("checksum"))
            file.byteCount = entry["sizeInBytes"]?.asInt64
            file.signature = entry.maybe("X-Signature").map {
                Signature("rsa-v1_5-sha256", of: .file, text: $0)
            }
            release.files.append(file)
        }
        return release
    }

    static func write(_ release: Release) throws -> JSONValue {
        let files = release.files.map { file in
            JSONValue.members([
                "href": .string(file.path.description),
                "checksum": .text(file.address?.description),
                "sizeInBytes": file.byteCount.map(JSONValue.integer),
                "X-Signature": .text(file.signature?.text),
            ])
        }
        return .members([
            "artifactType": release.foreign("artifactType"),
            "bundleId": .string(release.version.description),
            "channelName": .text(release.scope) ?? .null,
            "customProperties": release.foreign("customProperties"),
            "url": release.foreign("url"), "files": .array(files),
        ])
    }
}
