@testable import CASStore
@testable import HotPush
@testable import ServeFromCAS
@testable import VersionTree
@testable import WebServer

// Lists of channels at an origin, and what servers and checks remember in a store.

extension FuzzTarget {
    static let channelLists = FuzzTarget(
        name: "channelLists",
        words: ["{\"channels\":[", "\"stable\"", "\"beta\"", ",", "]}", "../", "\"\"", "null"]
    ) { input in
        let read = try unlessRefused(as: [.badOrigin, .badChannelName]) {
            try ChannelList.names(parsing: input)
        }
        guard let names = read else { return }
        for name in names {
            try hold((try? ChannelName(name.description)) == name, "the channel \(name)")
        }
        let again = try ChannelList.names(parsing: ChannelList.serialized(names))
        try hold(again == names.sorted(), "another list when it is written and read")
    }

    static let serverFiles = FuzzTarget(
        name: "serverFiles",
        words: [
            "{\"ports\":{", "\"com.example.kiosk\":", "23456", "65536", "0", "-1", "},",
            "\"token\":\"",
            String(repeating: "a", count: 32),
        ]
    ) { input in
        let read = try unlessRefused(as: [.badServerFile]) { try ServerMemory(parsing: input) }
        guard let memory = read else { return }
        try hold(memory.ports.allSatisfy { $0.port > 0 }, "the port 0")
        if let token = memory.token {
            let isHexadecimal = token.utf8.allSatisfy { Hex.value(of: $0) != nil }
            try hold(token.utf8.count == 32 && isHexadecimal, "the token \(token)")
        }
        try hold(
            try ServerMemory(parsing: memory.serialized) == memory,
            "another memory when it is written and read")
    }

    static let checkFiles = FuzzTarget(
        name: "checkFiles",
        words: [
            "castree-verified 1\n", "\"findings\":[", "\"kind\":\"damagedObject\"",
            "\"findingCount\":", "\"leftoverCount\":", "\"endedAt\":", "\"deep\":true",
            "\"repair\":false",
            "\"message\":\"", "\"object\":null", "9223372036854775807", "-1",
        ]
    ) { input in
        if let check = LastCheck(parsing: input) {
            try hold(check.findings.count <= LastCheck.findingsMax, "findings over their limit")
            let counts = [
                check.checkedObjects, check.skippedObjects, check.findingCount, check.leftoverCount,
            ]
            try hold(counts.allSatisfy { $0 >= 0 }, "a count below 0")
            try hold(
                LastCheck(parsing: check.serialized) == check,
                "another check when it is written and read")
        }
        // Chance does not find the sum: the input is taken for what stands before it, too.
        let sum = input.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        for bytes in [input, input + sum.withBytes { Array($0) }] {
            guard let times = VerifiedTimes(bytes) else { continue }
            let space = bytes.count - VerifiedTimes.heading.count - VerifiedTimes.sumByteCount
            try hold(
                times.entries.count * VerifiedTimes.entryByteCount == space, "entries from nowhere")
            for entry in times.entries.prefix(8) {
                // Whatever the order: an answer, or none.
                let bytes =
                    withUnsafeBytes(of: entry.prefix.bigEndian) { Array($0) }
                    + [UInt8](repeating: 0, count: 24)
                guard let address = ObjectID(bytes: bytes) else { continue }
                _ = times.time(of: address, isDeep: false)
                _ = times.time(of: address, isDeep: true)
            }
        }
    }
}
