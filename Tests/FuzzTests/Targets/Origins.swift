import CASStore
import VersionTree

@testable import HotPush

// What lies at an origin: channel pointers.

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
}
