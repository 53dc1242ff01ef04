package import CASStore
package import HotPush
import StrictJSON

/// The operator's settings for one system of an origin: the file `for/<system>/config.json`.
///
/// `castree origin enable` writes it; publishers and `castree origin serve` read it.
package struct ClientConfiguration: Sendable, Hashable {
    package var system: ClientSystem
    /// The base URL of the origin's server for clients, without a trailing slash: `https://u.example.org`.
    ///
    /// All URLs in answers begin with it; a request's `Host` is never used.
    package var baseURL: String
    /// The channel for each name that clients send.
    ///
    /// CodePush: a deployment key. hot-updater: `<platform>/<channel>`, as `ios/production`. Expo: the value of
    /// `expo-channel-name`, empty for clients that send none. Capgo: `<app_id>` or `<app_id>/<defaultChannel>`. chcp,
    /// Meteor: the name in the URL.
    package var deployments: [String: ChannelName]
    /// The folder in which CodePush's clients keep a release: `CodePush` (React Native) or `www` (Cordova).
    package var folder = "CodePush"
    package var historyCount = 200
    /// Whether the system is enabled; in a bucket the file outlives its system.
    package var isEnabled = true
    /// The entry of the origin's log that states it; `nil` where there is no log.
    package var log: Int64?

    package init(
        _ system: ClientSystem, baseURL: String, deployments: [String: ChannelName] = [:]
    ) {
        self.system = system
        self.baseURL = baseURL
        self.deployments = deployments
    }
}

// Configuration ↔ bytes, and the rules that hand-written files may break.

extension ClientConfiguration {
    package static let byteCountMax = 256 * 1024
    private static let deploymentCountMax = 1000
    private static let nameByteCountMax = 256
    package static let folders = ["CodePush", "www"]
    package static let historyCounts = 1...5000

    var document: JSONValue {
        .members([
            "castreeClients": .integer(FieldReader.clientFormat), "system": .text(system.rawValue),
            "baseURL": .text(baseURL), "deployments": .texts(deployments), "folder": .text(folder),
            "historyCount": .integer(Int64(historyCount)),
            "enabled": isEnabled ? nil : .bool(false), "log": .number(log),
        ])
    }

    package func serialized() -> [UInt8] { document.fileBytes }

    /// Reads the operator's settings, which may be written by hand.
    /// - Throws: `.badClients` with what is wrong; `.unsupportedFormat` if it is newer than this castree.
    package init(parsing bytes: [UInt8], of system: ClientSystem) throws(StoreError) {
        self = try Self.explaining(system) { () throws(PointerProblem) in
            try FieldReader(
                file: bytes, byteCountMax: Self.byteCountMax, depth: 4, format: "castreeClients")
        }
    }

    /// Reads the same as an entry of the log states it.
    init(_ document: JSONValue, of system: ClientSystem) throws(StoreError) {
        self = try Self.explaining(
            system, "; castree origin enable with --base-url and --deployment sets it again"
        ) { () throws(PointerProblem) in
            try FieldReader(document, format: "castreeClients")
        }
    }

    private static func explaining(
        _ system: ClientSystem, _ remedy: String = "",
        _ read: () throws(PointerProblem) -> FieldReader
    ) throws(StoreError) -> ClientConfiguration {
        do throws(PointerProblem) {
            return try parse(read(), system)
        } catch {
            throw error.refusal(
                of: OriginLayout.clientConfiguration(of: system.rawValue), remedy)
        }
    }

    private static func parse(
        _ fields: FieldReader, _ system: ClientSystem
    ) throws(PointerProblem) -> ClientConfiguration {
        var fields = fields
        guard try fields.text("system") == system.rawValue else {
            throw .broken("it is that of another system")
        }
        var configuration = ClientConfiguration(system, baseURL: try fields.text("baseURL"))
        configuration.folder = try fields.text("folder")
        configuration.historyCount = Int(
            try fields.integer(
                "historyCount", Int64(historyCounts.lowerBound)...Int64(historyCounts.upperBound)))
        configuration.isEnabled = fields.has("enabled") ? try fields.flag("enabled") : true
        configuration.log = try fields.log()
        guard let deployments = fields.take("deployments")?.asObject else {
            throw .broken("it has no \"deployments\"")
        }
        for member in deployments {
            do throws(StoreError) {
                configuration.deployments[member.key] = try ChannelName(
                    member.value.asString ?? "")
            } catch {
                throw .broken(error.message)
            }
        }
        try fields.end("it has")
        if let problem = configuration.problem { throw .broken(problem) }
        return configuration
    }

    package var problem: String? {
        if let problem = Self.problem(ofBaseURL: baseURL) { return problem }
        if system == .chcp, baseURL.utf8.contains(0x25) {
            return "chcp's clients escape URLs themselves: a base URL for them has no %"
        }
        if !Self.folders.contains(folder) {
            return
                "a folder is \(Self.folders.joined(separator: " or ")), not \"\(printable(folder))\""
        }
        if !Self.historyCounts.contains(historyCount) {
            return
                "a history lists \(Self.historyCounts.lowerBound) to \(Self.historyCounts.upperBound) offers"
        }
        if serialized().count > Self.byteCountMax {
            return "a configuration has at most \(Self.byteCountMax) bytes"
        }
        if deployments.count > Self.deploymentCountMax {
            return "there are more than \(Self.deploymentCountMax) deployments"
        }
        for (name, channel) in deployments.sorted(by: { $0.key < $1.key }) {
            if name.utf8.count > Self.nameByteCountMax {
                return "the name of a deployment has more than \(Self.nameByteCountMax) bytes"
            }
            if name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
                return "the name of a deployment has a control character"
            }
            if let problem = system.problem(ofDeployment: name) { return problem }
            if OriginLayout.isConfiguration(historyOf: channel) {
                return
                    "channel \(channel) cannot be announced to other systems: its history would stand where the "
                    + "configuration does; choose another name for it"
            }
        }
        return nil
    }

    package static func problem(ofBaseURL url: String) -> String? {
        let rule = "a base URL is http:// or https://, a host, and perhaps a path"
        let bytes = Array(url.utf8)
        guard bytes.count <= 1024, bytes.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            return "\(rule), in at most 1024 ASCII characters"
        }
        for scheme in ["https://", "http://"] where url.hasPrefix(scheme) {
            let rest = url.dropFirst(scheme.utf8.count)
            let host = rest.prefix { $0 != "/" }
            if host.isEmpty { return rule }
            if host.contains("@") { return "\(rule), without a user" }
            if rest.contains(where: { "?#\"<>\\^`{|}".contains($0) }) {
                return "\(rule), without query and fragment"
            }
            if rest.hasSuffix("/") { return "\(rule), without a slash at the end" }
            return nil
        }
        return rule
    }
}

extension ClientSystem {
    /// Why no client can send a deployment's name; `nil` if one can.
    fileprivate func problem(ofDeployment name: String) -> String? {
        switch self {
        case .expo: return nil
        case .codePush, .capgo:
            return name.isEmpty ? "\(rawValue): a deployment has a name" : nil
        case .chcp:
            // Clients escape an escaped name again.
            return PercentEncoding.unreserved(name) != name || ["", ".", ".."].contains(name)
                ? "chcp's clients find a deployment only if its name is of letters, digits and -._~, and not "
                    + "\"\(printable(name))\""
                : nil
        case .meteor:
            return name.isEmpty || name.contains("/")
                ? "\(rawValue): the name of a deployment is one part of a path, not \"\(printable(name))\""
                : nil
        case .hotUpdater:
            let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && ["ios", "android"].contains(parts[0]) && !parts[1].isEmpty
                ? nil
                : "\(rawValue): a deployment is ios/CHANNEL or android/CHANNEL, by the channel of the app, not "
                    + "\"\(printable(name))\""
        }
    }
}

// What the files below `for/` have in common: one line of JSON without white space, keys sorted (RFC 8785), which
// begins with its format.

extension FieldReader {
    static let clientFormat: Int64 = 1

    /// Checks the format before anything else.
    init(
        file bytes: [UInt8], byteCountMax: Int, depth: Int, format key: String
    ) throws(PointerProblem) {
        try self.init(
            JSONValue.read(bytes, byteCountMax: byteCountMax, depth: depth), format: key)
    }

    init(_ document: JSONValue, format key: String) throws(PointerProblem) {
        try self.init(document, format: key, upTo: Self.clientFormat)
    }

    mutating func optionalText(_ key: String) throws(PointerProblem) -> String? {
        has(key) ? try text(key) : nil
    }

    /// The entry of the origin's log that states the file; `nil` where there is no log.
    mutating func log() throws(PointerProblem) -> Int64? {
        has("log") ? try integer("log", 1...ChannelPointer.logMax) : nil
    }

    /// Refuses fields that were not taken.
    func end(_ beginning: String) throws(PointerProblem) {
        guard let unknown = rest.first else { return }
        throw .broken("\(beginning) an unknown field \"\(printable(unknown.key))\"")
    }
}

extension PointerProblem {
    func refusal(of place: String, _ remedy: String = "") -> StoreError {
        let error = storeError(place, .badClients, formatVersion: FieldReader.clientFormat)
        return StoreError(error.code, error.message + remedy)
    }
}
