import HotPush
import Platform
import StorageTestSupport

@testable import ClientSystems

/// What `npx expo export` writes, small.
enum ExpoTree {
    static let baseURL = "https://u.example.org"

    static func configuration(_ deployments: [String: String] = ["": "stable"]) throws
        -> ClientConfiguration
    {
        ClientConfiguration(
            .expo, baseURL: baseURL, deployments: try deployments.mapValues { try ChannelName($0) })
    }

    /// A tree for both platforms; its scripts differ from release to release, its picture does not.
    static func files(
        _ script: String, config: String? = #"{"name":"app","runtimeVersion":"1"}"#
    ) -> [String: String] {
        var files = [
            "metadata.json": """
            {"version":0,"bundler":"metro","fileMetadata":{\
            "android":{"bundle":"_expo/static/js/android/A.hbc","assets":[{"path":"assets/4f1c","ext":"png"}]},\
            "ios":{"bundle":"_expo/static/js/ios/A.hbc","assets":[{"path":"assets/4f1c","ext":"png"},\
            {"path":"assets/same","ext":"jpg"},{"path":"assets/font","ext":"ttf"}]}}}
            """,
            "_expo/static/js/android/A.hbc": script + " on android",
            "_expo/static/js/ios/A.hbc": script,
            "assets/4f1c": "picture", "assets/same": "picture", "assets/font": "font",
        ]
        files["expoConfig.json"] = config
        return files
    }

    static func request(
        _ fields: [String: String?] = [:], platform: String = "ios", runtime: String = "1"
    ) -> ClientRequest {
        var all: [String: String?] = [
            "expo-protocol-version": "1", "expo-platform": platform,
            "expo-runtime-version": runtime,
            "accept": "multipart/mixed,application/expo+json,application/json",
        ]
        all.merge(fields) { $1 }
        return ClientRequest(
            "GET", "/for/expo/manifest",
            fields: all.compactMap { name, value in
                value.map { ClientRequest.Field(name, $0) }
            })
    }

    struct Part: Equatable {
        var fields: [String: String]
        var body: [UInt8]
        /// The name in `content-disposition`.
        var name: String? {
            fields["content-disposition"]?.split(separator: "\"").dropFirst().first.map(String.init)
        }
    }

    /// Reads `multipart/mixed` as RFC 2046, section 5.1.1, has it; `nil` for what is none.
    static func parts(_ answer: ClientAnswer, _ bytes: [UInt8]) -> [Part]? {
        guard let type = answer.field("content-type"),
            let boundary = type.range(of: "multipart/mixed; boundary=").map({
                type[$0.upperBound...]
            })
        else { return nil }
        var parts: [Part] = []
        var rest = bytes[...]
        func take(_ text: String) -> Bool {
            guard rest.starts(with: text.utf8) else { return false }
            rest = rest.dropFirst(text.utf8.count)
            return true
        }
        guard take("--\(boundary)\r\n") else { return nil }
        while true {
            var part = Part(fields: [:], body: [])
            while !take("\r\n") {
                let line = rest.prefix { $0 != 13 }
                rest = rest.dropFirst(line.count)
                let halves = line.split(separator: 58, maxSplits: 1).map {
                    String(decoding: $0, as: UTF8.self)
                }
                guard take("\r\n"), halves.count == 2 else { return nil }
                part.fields[halves[0]] = String(halves[1].dropFirst())
            }
            let delimiter = Array("\r\n--\(boundary)".utf8)
            while !rest.starts(with: delimiter) {
                guard let byte = rest.popFirst() else { return nil }
                part.body.append(byte)
            }
            rest = rest.dropFirst(delimiter.count)
            parts.append(part)
            // Readers on iOS want the line end also after the last delimiter.
            if take("--\r\n") { return rest.isEmpty ? parts : nil }
            guard take("\r\n") else { return nil }
        }
    }
}
