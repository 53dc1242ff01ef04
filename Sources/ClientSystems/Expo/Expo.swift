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
