import Bsdiff
import CASStore
import VersionTree

@testable import ClientSystems
@testable import HotPush
@testable import Origin

// Patches for Expo's and hot-updater's clients, and what an origin says of them.

extension FuzzTarget {
    /// The input is a patch, for the base of ``deltas`` or for nothing.
    static let patches = FuzzTarget(
        name: "patches",
        words: [
            "BSDIFF40", "ENDSLEY/BSDIFF43", "BZh9", "BZh91AY&SY", "\u{0}\u{0}\u{0}\u{0}",
            "\u{18}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
        ]
    ) { input in
        let limit = 1 << 14
        for base in [base, []] {
            func apply() throws -> [UInt8]? {
                try unlessRefused(as: [.badPatch]) {
                    try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                        try BsdiffPatch.apply(input, to: base, limit: limit)
                    }
                }
            }
            guard let content = try apply() else { continue }
            try hold(content.count <= limit, "more than is allowed")
            try hold(
                BsdiffPatch.newByteCount(of: input) == content.count, "another size than declared")
            try hold(apply() == content, "other bytes the second time")
        }
    }

    /// The input stands at an origin as `for/patches/stable.json`.
    static let patchLists = FuzzTarget(
        name: "patchLists",
        words: [
            "{\"castreeHistory\":1,\"channel\":\"stable\",\"labelCount\":0,\"offers\":[",
            "\"system\":\"patches\"}\n", "\"createdAt\":", "\"content\":\"", "\"tried\":[",
            "\"documents\":[", "\"format\":\"bsdiff40\"", "\"format\":\"bsdiff43\"", "\"from\":\"",
            "\"platform\":\"ios\"", "\"epoch\":", "\"bytes\":", "9223372036854775807", "-1",
        ]
    ) { input in
        let channel = ChannelName.stable
        let read = try unlessRefused(as: [.badClients]) {
            try ClientPatches(parsing: input, of: channel)
        }
        guard let patches = read else { return }
        for release in patches.releases {
            try hold(
                0...ChannelPointer.sequenceMax ~= release.createdAt, "a time that is none")
            for patch in release.patches {
                try hold(
                    1...ClientPatch.byteCountMax ~= patch.byteCount && patch.epoch >= 0,
                    "a patch of a size, or in a place, that there is not")
            }
        }
        _ = PatchTable(patches)
        let again = try ClientPatches(parsing: patches.file.serialized(), of: channel)
        try hold(again == patches, "other patches when they are written and read")
    }
}
