import CASStore
import HotPush
import StrictJSON
import Testing
import VersionTree

/// Expo Updates 1: no paths and no sizes, but keys; headers for single assets; a signature over the bytes.
///
/// The parts of its multipart answer stand side by side here.
enum Expo: ForeignSystem {
    static let document = #"""
        {"manifest":{"id":"b15ed6d8-f39b-04ad-a248-fa3b95fd7e0e","createdAt":"2022-10-20T00:00:00.000Z",
        "runtimeVersion":"test","launchAsset":{"hash":"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
        "key":"9d01842d6ee1224f7188971c5d397115","contentType":"application/javascript",
        "url":"https://h.example/ios.hbc"},"assets":[{"key":"4f1cb2cac2370cd5050681232e8575a8",
        "contentType":"image/png","fileExtension":".png","url":"https://h.example/4f1c?platform=ios"}],
        "metadata":{"branch":"main"},"extra":{"expoClient":{"name":"demo","list":[1,2.50]}}},
        "expo-signature":{"sig":"c2lnbmVk","keyid":"main","alg":"rsa-v1_5-sha256"},
        "extensions":{"assetRequestHeaders":{"4f1cb2cac2370cd5050681232e8575a8":{"test-header":"v"}}}}
        """#

    static func read(_ document: JSONValue) throws -> Release {
        let manifest = try #require(document["manifest"])
        var release = try empty(try manifest.text("id"))
        release.require(Requirement.runtimeVersion, try manifest.text("runtimeVersion"))
        release.foreign = manifest.kept("createdAt", "metadata", "extra")
        let signature = try #require(document["expo-signature"])
        release.signatures = [
            Signature(
                try signature.text("alg"), of: .document, key: signature.maybe("keyid"),
                text: try signature.text("sig"))
        ]
        let headers = document["extensions"]?["assetRequestHeaders"]
        var assets = [try #require(manifest["launchAsset"])]
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
        let signature = try #require(release.signatures.first)
        let headers = release.files.filter { !$0.sources[0].fields.isEmpty }.map { file in
            JSONValue.Member(
                key: file.key ?? "",
                value: .object(
                    file.sources[0].fields.map { .init(key: $0.name, value: .string($0.value)) }))
        }
        let launch = try #require(release.files.first { $0.isLaunchFile })
        return .members([
            "manifest": .members([
                "id": .string(release.version.description),
                "createdAt": release.foreign("createdAt"),
                "runtimeVersion": .text(release.requirement(Requirement.runtimeVersion)),
                "launchAsset": asset(launch),
                "assets": .array(release.files.filter { !$0.isLaunchFile }.map(asset)),
                "metadata": release.foreign("metadata"), "extra": release.foreign("extra"),
            ]),
            "expo-signature": .members([
                "sig": .string(signature.text), "keyid": .text(signature.key),
                "alg": .string(signature.algorithm),
            ]),
            "extensions": .members(["assetRequestHeaders": .object(headers)]),
        ])
    }

    private static func asset(_ file: ReleaseFile) -> JSONValue {
        let hash = file.digest(.sha256).map { bytes in
            Base64.string(bytes).filter { $0 != "=" }
                .map { $0 == "+" ? "-" : $0 == "/" ? "_" : String($0) }.joined()
        }
        let ending = file.path.description.dropFirst(file.key?.count ?? 0)
        return .members([
            "hash": .text(hash), "key": .text(file.key), "contentType": .text(file.mediaType),
            "fileExtension": ending.isEmpty ? nil : .string(String(ending)),
            "url": .string(file.sources[0].reference),
        ])
    }
}
