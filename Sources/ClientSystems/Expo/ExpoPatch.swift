import HotPush
import Platform

/// A patch in place of a launch script, for clients that say what they run and that they take patches.
///
/// Such a client that cannot use a patch asks once more, without `A-IM`; one without it MUST NOT get a patch.
enum ExpoPatch {
    static let vary = "A-IM, Expo-Current-Update-ID"
    private static let manipulation = "bsdiff"

    /// The patch that leads a client to a file of an offer; `nil` if it gets the whole file.
    static func answer(
        _ inquiry: ClientInquiry, to object: ObjectFacts, of offer: ClientOffer
    ) throws(StoreError) -> ClientAnswer? {
        let request = inquiry.request
        guard takesPatches(request), let current = id("expo-current-update-id", request),
            !offer.documents.contains(where: { $0.id == current })
        else { return nil }
        for name in Set(inquiry.configuration.deployments.values).sorted() {
            // Without a patch of a channel that cannot be read, clients get the whole file.
            let found: [UInt8]?
            do throws(StoreError) {
                found = try self.bytes(from: current, to: object, in: name, inquiry)
            } catch {
                guard ![.unread, .unplanned].contains(error.code) else { throw error }
                found = nil
            }
            guard let bytes = found else { continue }
            return ClientAnswer(
                226,
                [
                    "im": manipulation, "expo-base-update-id": current,
                    "content-type": "application/octet-stream",
                    "cache-control": "private, max-age=0", "vary": vary,
                ], body: .bytes(bytes))
        }
        return nil
    }

    private static func bytes(
        from current: String, to object: ObjectFacts, in name: ChannelName,
        _ inquiry: ClientInquiry
    ) throws(StoreError) -> [UInt8]? {
        try patch(from: current, to: object.address, in: name, inquiry).flatMap {
            (patch) throws(StoreError) in
            try inquiry.origin.bytes(of: patch, making: object.byteCount)
        }
    }

    private static func patch(
        from current: String, to object: ObjectID, in name: ChannelName, _ inquiry: ClientInquiry
    ) throws(StoreError) -> ClientPatch? {
        let patches = try inquiry.origin.patches(of: name)
        let past = try inquiry.origin.channel(name, for: .expo)?.past ?? []
        for offer in past.reversed() {
            guard let document = offer.documents.first(where: { $0.id == current }),
                let content = offer.content
            else { continue }
            return patches.patch(
                to: object, from: content.description, on: document.platform)
        }
        // A bundle that was shipped with the app, if the operator has named it.
        for platform in ExpoExport.platforms {
            if let patch = patches.patch(to: object, from: current, on: platform) { return patch }
        }
        return nil
    }

    private static func takesPatches(_ request: ClientRequest) -> Bool {
        // Weights are as those of encodings (RFC 3229, section 10.5.3).
        request.fields.contains { field in
            field.name == "a-im" && Acceptance(field.value).takes([manipulation])
        }
    }

    /// An update's id in lower case; `nil` if the field is missing, or stands twice.
    private static func id(_ name: String, _ request: ClientRequest) -> String? {
        let values = request.fields.filter { $0.name == name }.map { $0.value.lowercased() }
        guard values.count == 1, let id = values.first, isID(id) else { return nil }
        return id
    }

    /// Whether a text is a lower-case UUID, as ids of updates are.
    static func isID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && text.utf8.allSatisfy {
                $0 == 45 || (48...57).contains($0) || (97...102).contains($0)
            }
    }
}

extension ClientRequest {
    /// Whether a condition of the request names an update's id without quotes, which no tag is.
    var hasBareTag: Bool {
        fields.contains { field in
            ["if-match", "if-none-match"].contains(field.name)
                && field.value.split(separator: ",").contains {
                    ExpoPatch.isID($0.trimmed().lowercased())
                }
        }
    }
}
