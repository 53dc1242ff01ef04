import CASStore
import StrictJSON
import VersionTree

@testable import HotPush

// What lies at an origin: channel pointers, and where the objects of a release stand.

extension FuzzTarget {
    static let pointers = FuzzTarget(
        name: "pointers",
        words: [
            "\"castreeChannel\":1", "\"channel\":\"stable\"", "\"sequence\":", "\"createdAt\":",
            "\"releases\":[",
            "\"version\":\"", "\"manifest\":\"", "\"manifestBytes\":", "\"content\":\"",
            "\"rolloutPerMille\":",
            "\"rolloutSalt\":\"", "\"requirements\":{", "\"mandatory\":true", "\"embedded\":true",
            "\"log\":", "\"epoch\":", "\"places\":\"", "\"deliveryEpoch\":", "\"epochs\":\"1\"",
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
        for version in pointer.releases.compactMap(\.version) {
            try hold(0..<(pointer.log ?? 1) ~= version.epoch, "epoch \(version.epoch)")
        }
    }

    /// The input is what a release of epoch 9 names, whatever its objects are.
    static let places = FuzzTarget(
        name: "places",
        words: [
            "{\"castreePlaces\":1,", "\"runs\":[", "[7,3]", "[0,9980],", "]]}",
            "9223372036854775807",
            "-1", "10000",
        ]
    ) { input in
        for count in [0, 3, 10_000] {
            let places: Places
            do throws(JSONError) {
                places = try Places.parse(input, count: count, epochMax: 9)
            } catch {
                continue
            }
            try hold(places.count == count, "places of \(places.count) objects")
            for number in [0, count / 2, count - 1] where 0..<count ~= number {
                let epoch = places.epoch(of: number)
                try hold(0...9 ~= epoch, "epoch \(epoch)")
            }
            let again = try Places.parse(places.serialized(), count: count, epochMax: 9)
            try hold(again == places, "other places when they are written and read")
        }
    }
}
