import CASStore
import StrictJSON
import VersionTree

@testable import HotPush
@testable import Origin

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
            "\"origin\":\"", "\"signatures\":[{\"key\":\"", "\"signature\":\"",
            "\"trustVersion\":2",
            "\"expiresAt\":", "9007199254740992", "1.0",
            String(repeating: "0", count: 64),
        ]
    ) { input in
        let channel = try ChannelName("stable")
        let read = try unlessRefused(as: [.badPointer, .unsupportedFormat, .tooLarge]) {
            try ChannelPointer(parsing: input, of: channel)
        }
        guard let pointer = read else { return }
        let written = pointer.serialized()
        let again = try ChannelPointer(parsing: written, of: channel)
        try hold(again.serialized() == written, "another pointer when it is written and read")
        try hold(pointer.isSigned == false || written == input, "a signed pointer in two spellings")
        if try signer.judge(pointer).objection == nil {
            try hold(try isSample(pointer.signedBytes), "a signature of something else")
        }
        for version in pointer.releases.compactMap(\.version) {
            try hold(0..<(pointer.log ?? 1) ~= version.epoch, "epoch \(version.epoch)")
        }
    }

    /// The key of RFC 8032's first vector, which has signed the samples; nobody else has it.
    private static var signer: TrustedKeys {
        get throws(StoreError) {
            let text = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
            return try TrustedKeys([VerificationKey(base64: text)])
        }
    }

    /// The SHA-256 of all that it has signed.
    private static let signed: Set<String> = [
        "bd0d270045bdd0a012c5bac8e5ee4488dab196c79a00fcd1d87c3d63228ac6bd",
        "8f1706c2aa5c72b979dff0e1358e7f1751c5d267ecd679f462e0ec02b54c29a6",
    ]

    private static func isSample(_ signedBytes: [UInt8]) throws -> Bool {
        signed.contains(Hex.string(try Digester.digest(.sha256, of: signedBytes)))
    }

    /// The input stands at an origin as `trust/2.json`.
    static let trustFiles = FuzzTarget(
        name: "trustFiles",
        words: [
            "{\"castreeTrust\":1,", "\"createdAt\":", "\"keys\":[\"MCowBQYDK2VwAyEA",
            "\"origin\":\"",
            "\"signatures\":[{\"key\":\"", "\"signature\":\"", "\"threshold\":2", "\"version\":2",
            "9007199254740992", "1.0",
        ]
    ) { input in
        let read = try unlessRefused(as: [.untrusted, .unsupportedFormat]) {
            try TrustFile(parsing: input, version: 2)
        }
        guard let file = read else { return }
        try hold(file.serialized() == input, "a trust in two spellings")
        try hold(1...file.trusted.keys.count ~= file.trusted.threshold, "a threshold out of reach")
        let origin = String(repeating: "0c", count: 16)
        let isTaken: Void? = try unlessRefused(as: [.untrusted]) {
            try file.check(follows: signer, 1, of: origin)
        }
        try hold(
            isTaken == nil || isSample(file.signedBytes), "a signature of something else")
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
        let read = try unlessRefused(as: [.damagedOrigin, .unsupportedFormat]) {
            try LogEntry(parsing: input, number: 9)
        }
        guard let entry = read else { return }
        try hold(1...9 ~= entry.keptFrom && 0...9 ~= entry.prunedAt, "a later entry is named")
        try hold(entry.channels.values.allSatisfy { 1...9 ~= $0 }, "a channel in a later entry")
        for (channel, place) in entry.channels {
            try hold((place == 9) == (entry.pointers[channel] != nil), "no pointer of \(channel)")
        }
        let written = entry.serialized()
        let again = try LogEntry(parsing: written, number: 9)
        // Of fields that castree does not know the order is not kept.
        try hold(again.serialized() == written, "another entry when it is written and read")
    }
}
