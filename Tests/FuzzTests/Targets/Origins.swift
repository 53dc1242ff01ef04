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

    /// The input stands in the log under the number 9.
    static let logEntries = FuzzTarget(
        name: "logEntries",
        words: [
            "{\"castreeLog\":1,", "\"at\":", "\"by\":\"", "\"channels\":{\"stable\":9}",
            "\"epoch\":3", "\"kept\":7", "\"kind\":\"prune\"", "\"pointers\":{\"stable\":{",
            "\"prune\":9", "\"probe\":{\"pointerCondition\":\"bare\"}", "\"castreeChannel\":1",
            "\"log\":9", "9999999999", "-1",
        ]
    ) { input in
        let entry: LogEntry
        do throws(StoreError) {
            entry = try LogEntry(parsing: input, number: 9)
        } catch {
            try hold(
                [.damagedOrigin, .unsupportedFormat].contains(error.code), "\(error.code)")
            return
        }
        try hold(1...9 ~= entry.keptFrom && 0...9 ~= entry.prunedAt, "a later entry is named")
        try hold(entry.channels.values.allSatisfy { 1...9 ~= $0 }, "a channel in a later entry")
        for (channel, place) in entry.channels {
            try hold((place == 9) == (entry.pointers[channel] != nil), "no pointer of \(channel)")
        }
        try hold(entry.garbageEpochMax < entry.epoch, "the newest epoch may be deleted")
        let written = entry.serialized()
        let again = try LogEntry(parsing: written, number: 9)
        // Of fields that castree does not know the order is not kept.
        try hold(again.serialized() == written, "another entry when it is written and read")
    }
}
