import HotPush
import Platform

/// What a client of Expo's asks, read from the fields of its request.
struct ExpoQuestion {
    /// `ios` or `android`.
    private(set) var platform = ""
    private(set) var runtimeVersion = ""
    /// The value of `expo-channel-name`; empty for a client that sends none.
    private(set) var channel = ""
    /// The client's name in roll-outs; `nil` for one that takes part in none.
    private(set) var device: String?
    /// The update that runs; in lower case, as ids are written.
    private(set) var currentID: String?
    /// The update that was shipped with the app.
    private(set) var embeddedID: String?
    /// The id of the key that is to have signed the answer, as the answer spells it; `nil` if nobody asks for a signature.
    private(set) var keyID: String?
    /// Whether an answer may have several parts.
    private(set) var takesParts = true
    /// The media type of an answer without parts; `nil` if none is taken.
    private(set) var plainType: String?

    /// A question, or why there is no answer.
    enum Reading {
        case read(ExpoQuestion)
        case refused(Int, String)
    }

    /// The key that Expo's tools name unless somebody says otherwise.
    private static let defaultKeyID = "\"main\""
    private static let byteCountMax = 1024

    static func read(_ request: ClientRequest) -> Reading {
        guard request.asksForContent else { return .refused(405, "Only GET is answered here.") }
        var question = ExpoQuestion()
        let names = [
            "expo-protocol-version", "expo-platform", "expo-runtime-version", "expo-channel-name",
            "eas-client-id", "expo-current-update-id", "expo-embedded-update-id",
            "expo-expect-signature",
        ]
        var values: [String: String] = [:]
        for field in request.fields where names.contains(field.name) {
            // Two readers could take two different ones.
            guard values.updateValue(field.value, forKey: field.name) == nil else {
                return .refused(400, "The field \(field.name) stands twice.")
            }
            guard field.value.utf8.count <= byteCountMax else {
                return .refused(400, "The field \(field.name) is too long.")
            }
        }
        guard values["expo-protocol-version"] == "1" else {
            return .refused(
                400, "Only version 1 of the protocol is spoken here (expo-protocol-version).")
        }
        guard let platform = values["expo-platform"], platform == "ios" || platform == "android"
        else { return .refused(400, "expo-platform must be ios or android.") }
        guard let version = values["expo-runtime-version"], !version.isEmpty else {
            return .refused(400, "expo-runtime-version is missing.")
        }
        question.platform = platform
        question.runtimeVersion = version
        question.channel = values["expo-channel-name"] ?? ""
        question.device = values["eas-client-id"].flatMap { $0.isEmpty ? nil : $0 }
        question.currentID = values["expo-current-update-id"]?.lowercased()
        question.embeddedID = values["expo-embedded-update-id"]?.lowercased()
        if let expected = values["expo-expect-signature"] {
            let field = StructuredField(dictionary: expected)
            if case .string(let algorithm)? = field?["alg"], algorithm != "rsa-v1_5-sha256" {
                return .refused(406, "Answers are signed with rsa-v1_5-sha256 only.")
            }
            if field?["sig"] != .boolean(false) { question.keyID = keyID(field) }
        }
        return question.negotiated(request)
    }

    private static func keyID(_ field: StructuredField?) -> String {
        guard case .string(let id)? = field?["keyid"] else { return defaultKeyID }
        return StructuredField.string(id) ?? defaultKeyID
    }

    /// Adds which form of an answer the client takes.
    private func negotiated(_ request: ClientRequest) -> Reading {
        let lists = request.fields.filter { $0.name == "accept" }.map(\.value)
        guard !lists.isEmpty else { return .read(self) }
        let accepted = Acceptance(lists.joined(separator: ","))
        var question = self
        question.takesParts = accepted.takes(["multipart/mixed", "multipart/*", "*/*"])
        question.plainType = ["application/expo+json", "application/json"].first {
            accepted.takes([$0, "application/*", "*/*"])
        }
        guard question.takesParts || question.plainType != nil else {
            return .refused(
                406, "Answers are multipart/mixed, application/expo+json or application/json.")
        }
        return .read(question)
    }

    /// Whether a document is for the platform and the runtime version.
    func isAskedFor(_ document: ClientDocument) -> Bool {
        document.platform == platform
            && document.runtimeVersion.utf8.elementsEqual(runtimeVersion.utf8)
    }

    /// The document that a release has for the client; `nil` if the release is not for it.
    func document(of live: ClientChannel.Live) -> ClientDocument? {
        if live.offer.version != nil { return live.offer.documents.first(where: isAskedFor) }
        // Going back is for all, unless the release is for one runtime version.
        let isMeant = live.release.requirements.allSatisfy { requirement in
            ExpoRuntime.kinds.contains(requirement.kind)
                && requirement.value.utf8.elementsEqual(runtimeVersion.utf8)
        }
        return isMeant ? live.offer.documents.first : nil
    }
}
