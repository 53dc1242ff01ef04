import HotPush
import Platform
import StrictJSON

/// The feed of Expo's clients: protocol 1 (docs.expo.dev, "Expo Updates v1").
///
/// The request is entirely in its fields. An update is the channel's newest release for the platform, the runtime
/// version and the device.
enum Expo: ClientFeed {
    static let system = ClientSystem.expo
    /// Clients move only to newer updates, so a withdrawal must offer the remaining release again.
    static let ordersByTime = true

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard inquiry.request.path == "/for/expo/manifest" else {
            return try ExpoAsset.answer(inquiry)
        }
        let question: ExpoQuestion
        do throws(ClientRefusal) {
            question = try ExpoQuestion(inquiry.request)
        } catch {
            return refusal(error.status, error.sentence)
        }
        guard let channel = try inquiry.channel(of: question.channel) else {
            return refusal(404, "There is no channel of that name.")
        }
        let newest = try channel.newest(for: question.device) {
            question.document(of: $0) != nil
        } has: {
            $0.offer.version != nil && question.document(of: $0)?.id == question.currentID
        }
        guard let newest, let document = question.document(of: newest.live) else {
            let isKnown = channel.past.contains { offer in
                offer.documents.contains { question.isAskedFor($0) }
            }
            return isKnown
                ? nothing : refusal(404, "There is no update for that runtime version.")
        }
        let isUpdate = newest.live.offer.version != nil
        // The device already runs the content it was shipped with.
        let isEmbedded = question.embeddedID == nil || question.embeddedID == question.currentID
        if newest.isHeld || !isUpdate && isEmbedded { return nothing }
        return try answer(question, document, isUpdate: isUpdate, inquiry.origin)
    }

    private static func answer(
        _ question: ExpoQuestion, _ document: ClientDocument, isUpdate: Bool,
        _ origin: any ClientOrigin
    ) throws(StoreError) -> ClientAnswer {
        var signature: String?
        if let keyID = question.keyID {
            guard let signed = document.signature else {
                return refusal(
                    400,
                    "The app asks for a signature, and nobody has signed this update: publish it with --client-key."
                )
            }
            signature = "sig=\"\(signed)\", keyid=\(keyID)"
        }
        if question.takesParts {
            guard let bytes = try origin.bytes(of: document, for: .expo) else {
                throw document.loss(.expo)
            }
            let boundary = "castree-\(document.address.description.prefix(32))"
            let body = parts(
                bytes, named: isUpdate ? "manifest" : "directive", signature: signature, boundary)
            return answer(200, "multipart/mixed; boundary=\(boundary)", .bytes(body))
        }
        guard isUpdate, let type = question.plainType else {
            return refusal(406, "The answer has several parts: accept multipart/mixed.")
        }
        var plain = answer(200, type, .document(document, .expo))
        if let signature { plain.set("expo-signature", signature) }
        return plain
    }

    /// A document in a part of `multipart/mixed` (RFC 2046, section 5.1.3); its bytes stay as they were signed.
    ///
    /// The last delimiter ends with a line end; without one the reader on iOS finds no part.
    /// - Parameter boundary: made from the document's address, which the document cannot contain.
    private static func parts(
        _ document: [UInt8], named name: String, signature: String?, _ boundary: String
    ) -> [UInt8] {
        var body: [UInt8] = []
        func line(_ text: String) { body += Array((text + "\r\n").utf8) }
        line("--\(boundary)")
        line("content-disposition: form-data; name=\"\(name)\"")
        line("content-type: application/json; charset=utf-8")
        if let signature { line("expo-signature: \(signature)") }
        line("")
        body += document
        line("")
        if name == "manifest" {
            line("--\(boundary)")
            line("content-disposition: form-data; name=\"extensions\"")
            line("content-type: application/json")
            line("")
            line("{\"assetRequestHeaders\":{}}")
        }
        line("--\(boundary)--")
        return body
    }

    private static func answer(
        _ status: Int, _ mediaType: String?, _ body: ClientAnswer.Body
    ) -> ClientAnswer {
        var answer = ClientAnswer(
            status,
            [
                "expo-protocol-version": "1", "expo-sfv-version": "0",
                "cache-control": "private, max-age=0",
            ], body: body)
        if let mediaType { answer.set("content-type", mediaType) }
        return answer
    }

    private static let nothing = answer(204, nil, .none)

    private static func refusal(_ status: Int, _ sentence: String) -> ClientAnswer {
        let body = JSONWriter.document { $0.member("error", sentence) }
        var answer = answer(status, "application/json", .bytes(body))
        if status == 405 { answer.set("allow", "GET, HEAD") }
        return answer
    }
}

struct ExpoQuestion {
    /// `ios` or `android`.
    let platform: String
    let runtimeVersion: String
    /// The value of `expo-channel-name`; empty for a client that sends none.
    let channel: String
    let device: String?
    /// The update that runs; in lower case, as ids are written.
    let currentID: String?
    let embeddedID: String?
    /// The id of the key that must have signed the answer, as the answer spells it; `nil` if no signature is asked
    /// for.
    private(set) var keyID: String?
    private(set) var takesParts = true
    /// The media type of an answer without parts; `nil` if none is accepted.
    private(set) var plainType: String?

    private static let defaultKeyID = "\"main\""
    private static let byteCountMax = 1024
    private static let names = [
        "expo-protocol-version", "expo-platform", "expo-runtime-version", "expo-channel-name",
        "eas-client-id", "expo-current-update-id", "expo-embedded-update-id",
        "expo-expect-signature",
    ]

    init(_ request: ClientRequest) throws(ClientRefusal) {
        guard request.asksForContent else {
            throw ClientRefusal(status: 405, sentence: "Only GET is answered here.")
        }
        var values: [String: String] = [:]
        for field in request.fields where Self.names.contains(field.name) {
            // Two readers could take different values.
            guard values.updateValue(field.value, forKey: field.name) == nil else {
                throw ClientRefusal(sentence: "The field \(field.name) stands twice.")
            }
            guard field.value.utf8.count <= Self.byteCountMax else {
                throw ClientRefusal(sentence: "The field \(field.name) is too long.")
            }
        }
        guard values["expo-protocol-version"] == "1" else {
            throw ClientRefusal(
                sentence: "Only version 1 of the protocol is spoken here (expo-protocol-version).")
        }
        guard let platform = values["expo-platform"], platform == "ios" || platform == "android"
        else { throw ClientRefusal(sentence: "expo-platform must be ios or android.") }
        guard let version = values["expo-runtime-version"], !version.isEmpty else {
            throw ClientRefusal(sentence: "expo-runtime-version is missing.")
        }
        self.platform = platform
        runtimeVersion = version
        channel = values["expo-channel-name"] ?? ""
        device = values["eas-client-id"].flatMap { $0.isEmpty ? nil : $0 }
        currentID = values["expo-current-update-id"]?.lowercased()
        embeddedID = values["expo-embedded-update-id"]?.lowercased()
        if let expected = values["expo-expect-signature"] {
            let field = StructuredField(dictionary: expected)
            if case .string(let algorithm)? = field?["alg"], algorithm != "rsa-v1_5-sha256" {
                throw ClientRefusal(
                    status: 406, sentence: "Answers are signed with rsa-v1_5-sha256 only.")
            }
            if field?["sig"] != .boolean(false) { keyID = Self.keyID(field) }
        }
        let lists = request.fields.filter { $0.name == "accept" }.map(\.value)
        guard !lists.isEmpty else { return }
        let accepted = Acceptance(lists.joined(separator: ","))
        takesParts = accepted.takes(["multipart/mixed", "multipart/*", "*/*"])
        plainType = ["application/expo+json", "application/json"].first {
            accepted.takes([$0, "application/*", "*/*"])
        }
        guard takesParts || plainType != nil else {
            throw ClientRefusal(
                status: 406,
                sentence: "Answers are multipart/mixed, application/expo+json or application/json.")
        }
    }

    private static func keyID(_ field: StructuredField?) -> String {
        guard case .string(let id)? = field?["keyid"] else { return defaultKeyID }
        return StructuredField.string(id) ?? defaultKeyID
    }

    func isAskedFor(_ document: ClientDocument) -> Bool {
        document.platform == platform
            && document.runtimeVersion.utf8.elementsEqual(runtimeVersion.utf8)
    }

    func document(of live: ClientChannel.Live) -> ClientDocument? {
        if live.offer.version != nil { return live.offer.documents.first(where: isAskedFor) }
        // Rolling back is for all, unless the release is for one runtime version.
        let isMeant = live.release.requirements.allSatisfy { requirement in
            ExpoRuntime.kinds.contains(requirement.kind)
                && requirement.value.utf8.elementsEqual(runtimeVersion.utf8)
        }
        return isMeant ? live.offer.documents.first : nil
    }
}

/// The native code that a release is for: the text that an app sends as `Expo-Runtime-Version`.
///
/// The publisher's requirement comes first: `runtimeVersion`, or `fingerprint`, which apps with that policy send.
/// Otherwise `expoConfig.json` states it, as a text or as a policy together with its result.
enum ExpoRuntime {
    static let kinds = [Requirement.runtimeVersion, Requirement.fingerprint]

    /// - Throws: `.unsuitableRelease` if there is none, or if there are two.
    static func version(
        for platform: String, _ requirements: [Requirement], _ config: JSONValue?
    ) throws(StoreError) -> String {
        if let required = try required(requirements) { return required }
        guard let config else {
            throw ExpoExport.refusal(
                "nothing says for which runtime version it is: --require runtimeVersion=VERSION, or put \(ExpoExport.configPath) "
                    + "beside \(ExpoExport.metadataPath) (npx expo config --type public --json)")
        }
        let said = config[platform]?["runtimeVersion"] ?? config["runtimeVersion"]
        if let text = said?.asString, !text.isEmpty { return text }
        if let policy = said?["policy"]?.asString,
            let version = version(policy: policy, platform, config)
        {
            return version
        }
        throw ExpoExport.refusal(
            "its \(ExpoExport.configPath) does not say for which runtime version of \(platform) it is: "
                + "--require runtimeVersion=VERSION")
    }

    static func required(_ requirements: [Requirement]) throws(StoreError) -> String? {
        let values = requirements.filter { kinds.contains($0.kind) }.map(\.value)
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0.utf8.elementsEqual(first.utf8) }) else {
            throw ExpoExport.refusal(
                "an app has one runtime version, and \(requirements.listed) are two")
        }
        return first
    }

    /// The result of a policy by docs.expo.dev, "Runtime versions"; `nil` where only the app's build knows it.
    private static func version(
        policy: String, _ platform: String, _ config: JSONValue
    ) -> String? {
        let app = config[platform]?["version"]?.asString ?? config["version"]?.asString ?? "1.0.0"
        switch policy {
        case "appVersion": return app
        case "nativeVersion":
            let build =
                platform == "ios"
                ? config["ios"]?["buildNumber"]?.asString ?? "1"
                : config["android"]?["versionCode"]?.asInt64.map(String.init) ?? "1"
            return "\(app)(\(build))"
        case "sdkVersion": return config["sdkVersion"]?.asString.map { "exposdk:\($0)" }
        default: return nil
        }
    }
}
