import HotPush
import Platform

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
