import Console
import StoreCommands

extension Option {
    /// How packs are made: for `publish` and `pack`.
    static let packing: [Option] = [
        .integer(
            "level", in: 1...19,
            "compress this much: 3 takes a twentieth of the time for a third more bytes",
            fallback: 19),
        .integer(
            "packs-from", in: 0...60,
            "make a pack from each of this many contents that the channel offered last", fallback: 4
        ),
        .text(
            "pack-base", placeholder: "VERSION",
            "make a pack from this version of the store, too: what an app was shipped with; repeatable",
            repeats: true, completion: .versions()),
        .flag(
            "fetch-bases",
            "fetch from a bucket what the store lacks of those contents; without it they get no pack"
        ),
    ]
}
