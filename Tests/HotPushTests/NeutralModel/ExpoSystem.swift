import StorageTestSupport

@testable import HotPush

/// Expo Updates 1: no paths and no sizes, but keys; headers for single assets; a signature over the bytes.
///
/// The parts of its multipart answer stand side by side here.
enum Expo: ForeignSystem {
    static let documents = [
        #"""
        {"manifest":{"id":"b15ed6d8-f39b-04ad-a248-fa3b95fd7e0e","createdAt":"2022-10-20T00:00:00.000Z",
        "runtimeVersion":"test","launchAsset":{"hash":"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
        "key":"9d01842d6ee1224f7188971c5d397115","contentType":"application/javascript",
        "url":"https://h.example/ios.hbc"},"assets":[{"key":"4f1cb2cac2370cd5050681232e8575a8",
        "contentType":"image/png","fileExtension":".png","url":"https://h.example/4f1c?platform=ios"}],
        "metadata":{"branch":"main"},"extra":{"expoClient":{"name":"demo","list":[1,2.50]}}},
        "expo-signature":{"sig":"c2lnbmVk","keyid":"main","alg":"rsa-v1_5-sha256"},
        "certificate_chain":"-----BEGIN CERTIFICATE-----\\n",
        "extensions":{"assetRequestHeaders":{"4f1cb2cac2370cd5050681232e8575a8":{"test-header":"v"}}}}
        """#,
        #"""
        {"manifest":{"id":"0b2c5c0e-0000-4000-8000-000000000001","createdAt":"2024-02-29T23:59:59.123Z",
        "runtimeVersion":"1.0","launchAsset":{"hash":"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
        "key":"a.js","contentType":"text/javascript","url":"https://h.example/a"},"assets":[],
        "metadata":{},"extra":{}},"extensions":{"assetRequestHeaders":{}}}
        """#,
    ]

    static func read(_ document: JSONValue) throws -> Release {
        let manifest = try require(document["manifest"])
        var release = try empty(try manifest.text("id"), trust: .length)
        release.order = CalendarTime.seconds(try manifest.text("createdAt"))
        release.require(Requirement.runtimeVersion, try manifest.text("runtimeVersion"))
        release.foreign = manifest.kept("createdAt", "metadata", "extra")
        if let part = document["expo-signature"] {
            var signature = Signature(
                try part.text("alg"), of: .document, key: part.maybe("keyid"),
                text: try part.text("sig"))
            signature.certificates = document.maybe("certificate_chain")
            release.signatures = [signature]
        }
        let headers = document["extensions"]?["assetRequestHeaders"]
        var assets = [try require(manifest["launchAsset"])]
        assets += manifest.elements("assets")
        release.files = try assets.map { try file($0, headers) }
        release.files[0].isLaunchFile = true
        return release
    }

    private static func file(_ asset: JSONValue, _ headers: JSONValue?) throws -> ReleaseFile {
        let key = try asset.text("key")
        let path = key + (asset.maybe("fileExtension") ?? "")
        var file = ReleaseFile(path: try TreePath(path), source: try asset.text("url"))
        file.key = key
        file.fileExtension = asset.maybe("fileExtension")
        file.mediaType = asset.maybe("contentType")
        if let hash = asset.maybe("hash") {
            let text = hash.map { $0 == "-" ? "+" : $0 == "_" ? "/" : String($0) }.joined() + "="
            try file.check(.sha256, base64: text)
        }
        for field in headers?[key]?.asObject ?? [] {
            file.sources[0].fields.append(.init(field.key, field.value.asString ?? ""))
        }
        return file
    }

    static func write(_ release: Release) throws -> JSONValue {
        let signature = release.signatures.first
        let headers = release.files.filter { !$0.sources[0].fields.isEmpty }.map { file in
            JSONValue.Member(
                key: file.key ?? "",
                value: .object(
                    file.sources[0].fields.map { .init(key: $0.name, value: .string($0.value)) }))
        }
        let launch = try require(release.files.first { $0.isLaunchFile })
        return .members([
            "manifest": .members([
                "id": .string(release.version.description),
                "createdAt": release.foreign("createdAt"),
                "runtimeVersion": .text(release.requirement(Requirement.runtimeVersion)),
                "launchAsset": asset(launch),
                "assets": .array(release.files.filter { !$0.isLaunchFile }.map(asset)),
                "metadata": release.foreign("metadata"), "extra": release.foreign("extra"),
            ]),
            "expo-signature": signature.map { signature in
                .members([
                    "sig": .string(signature.text), "keyid": .text(signature.key),
                    "alg": .string(signature.algorithm),
                ])
            },
            "certificate_chain": .text(signature?.certificates),
            "extensions": .members(["assetRequestHeaders": .object(headers)]),
        ])
    }

    private static func asset(_ file: ReleaseFile) -> JSONValue {
        let hash = file.digest(.sha256).map { bytes in
            Base64.string(bytes).filter { $0 != "=" }
                .map { $0 == "+" ? "-" : $0 == "/" ? "_" : String($0) }.joined()
        }
        return .members([
            "hash": .text(hash), "key": .text(file.key), "contentType": .text(file.mediaType),
            "fileExtension": .text(file.fileExtension),
            "url": .string(file.sources[0].reference),
        ])
    }
}
