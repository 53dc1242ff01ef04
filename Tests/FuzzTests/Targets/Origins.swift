import CASStore
import StrictJSON
import VersionTree

@testable import HotPush

// What lies at an origin: channel pointers, deltas between manifests; and the heads of its answers.

extension FuzzTarget {
    static let pointers = FuzzTarget(
        name: "pointers",
        words: [
            "\"castreeChannel\":1", "\"channel\":\"stable\"", "\"sequence\":", "\"createdAt\":",
            "\"releases\":[",
            "\"version\":\"", "\"manifest\":\"", "\"manifestBytes\":", "\"content\":\"",
            "\"rolloutPerMille\":",
            "\"rolloutSalt\":\"", "\"requirements\":{", "\"mandatory\":true", "\"embedded\":true",
            String(repeating: "0", count: 64),
        ]
    ) { input in
        let channel = try ChannelName("stable")
        let pointer: ChannelPointer
        do throws(StoreError) {
            pointer = try ChannelPointer(parsing: input, of: channel)
        } catch {
            let isRight = [.badPointer, .unsupportedFormat, .tooLarge].contains(error.code)
            try hold(isRight, "\(error.code)")
            return
        }
        let written = pointer.serialized()
        let again = try ChannelPointer(parsing: written, of: channel)
        try hold(again.serialized() == written, "another pointer when it is written and read")
    }

    static let deltas = FuzzTarget(
        name: "deltas",
        words: [
            "{\"castreeDelta\":1,\"parts\":[", "[0,3]", "[0,9223372036854775807]", "\"a\"", ",",
        ]
    ) { input in
        let delta: ManifestDelta
        do throws(JSONError) {
            delta = try ManifestDelta(parsing: input)
        } catch {
            return
        }
        try hold(try ManifestDelta(parsing: delta.serialized()) == delta, "another delta")
        let base = Array("{\"castree\":1,\"entries\":[]}".utf8)
        for byteCount: Int64 in [0, 3, 26, 100] {
            guard let result = delta.applied(to: base, byteCount: byteCount) else { continue }
            try hold(Int64(result.count) == byteCount, "\(result.count) bytes for \(byteCount)")
        }
    }
}
