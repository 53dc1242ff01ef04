import HotPush
package import Platform
import StrictJSON

/// Answers Expo's clients: protocol 1 (docs.expo.dev, "Expo Updates v1").
///
/// All of a request is in its fields. An update is the newest release of the channel that is for the platform, the runtime
/// version and the device.
package enum ExpoDecider: ClientDecider {
    package static var system: ClientSystem { .expo }

    static let manifestPath = "/for/expo/manifest"

    package static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard request.path == manifestPath else {
            return try ExpoAsset.answer(request, configuration, origin)
        }
        let question: ExpoQuestion
        switch ExpoQuestion.read(request) {
        case .refused(let status, let sentence): return refusal(status, sentence)
        case .read(let read): question = read
        }
        guard let name = configuration.deployments[question.channel],
            let channel = try origin.channel(name, for: .expo)
        else { return refusal(404, "There is no channel of that name.") }
        return try answer(question, channel, origin)
    }

    private static func answer(
        _ question: ExpoQuestion, _ channel: ClientChannel, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer {
        for live in channel.live {
            guard let document = question.document(of: live) else { continue }
            // What a device has is not taken back by a roll-out that does not choose it.
            let isHeld = live.offer.version != nil && document.id == question.currentID
            let isChosen = try live.release.rollout?.includes(question.device) ?? true
            guard isHeld || isChosen else { continue }
            // It is what the device runs already.
            if live.offer.version == nil {
                guard let embedded = question.embeddedID, embedded != question.currentID else {
                    return nothing
                }
            } else if isHeld {
                return nothing
            }
            return try answer(question, document, isUpdate: live.offer.version != nil, origin)
        }
        let isKnown = channel.past.contains { offer in
            offer.documents.contains { question.isAskedFor($0) }
        }
        return isKnown ? nothing : refusal(404, "There is no update for that runtime version.")
    }

    private static func answer(
        _ question: ExpoQuestion, _ document: ClientDocument, isUpdate: Bool,
        _ origin: some ClientOrigin
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
                throw StoreError(
                    .damagedOrigin,
                    "the origin has lost a document of Expo's; publish the version again",
                    object: document.address)
            }
            let parts = ExpoParts(
                bytes, named: isUpdate ? "manifest" : "directive", signature: signature,
                boundary: document.address)
            return ClientAnswer(
                200,
                common + [
                    ClientRequest.Field(
                        "content-type", "multipart/mixed; boundary=\(parts.boundary)")
                ], body: .bytes(parts.body))
        }
        guard isUpdate, let type = question.plainType else {
            return refusal(406, "The answer has several parts: accept multipart/mixed.")
        }
        var fields = common + [ClientRequest.Field("content-type", type)]
        if let signature { fields.append(ClientRequest.Field("expo-signature", signature)) }
        return ClientAnswer(200, fields, body: .document(document, .expo))
    }

    /// The fields of every answer.
    private static let common = [
        ClientRequest.Field("expo-protocol-version", "1"),
        ClientRequest.Field("expo-sfv-version", "0"),
        ClientRequest.Field("cache-control", "private, max-age=0"),
    ]

    private static let nothing = ClientAnswer(204, common)

    private static func refusal(_ status: Int, _ sentence: String) -> ClientAnswer {
        var fields = common + [ClientRequest.Field("content-type", "application/json")]
        if status == 405 { fields.append(ClientRequest.Field("allow", "GET, HEAD")) }
        return ClientAnswer(
            status, fields, body: .bytes(JSONWriter.document { $0.member("error", sentence) }))
    }
}
