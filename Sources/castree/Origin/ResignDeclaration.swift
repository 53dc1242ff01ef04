import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON

extension Command {
    /// `resign`: signs again what an origin offers.
    static let resign = Command(
        "resign", summary: "signs anew what the channels of an origin offer",
        discussion: """
            For a pointer that is signed for a time: run it from cron before that is over. Devices \
            obey no pointer whose time is over; what they run goes on. The releases stay as they \
            are. Also signs a channel that nobody has signed yet, with --adopt, or by more keys \
            than before.

                castree resign /srv/www/updates --sign-key release.key --valid-for 30d
                castree resign /srv/www/updates --sign-key release.key --adopt
            """,
        arguments: [.originDirectory],
        options: [
            .text("channel", placeholder: "NAME", "only this channel [else all]")
        ] + Option.signing + [.noWait, .withoutSync] + Option.bucket
    ) { try $0.resign() }.reportingAbsence
}

extension Invocation {
    /// The one channel that is signed anew; `nil` for all.
    ///
    /// - Throws: `usage` for a name that no channel can have.
    func signedChannel() throws -> ChannelName? {
        guard let given = try value("channel") else { return nil }
        return try parsed { () throws(StoreError) in try ChannelName(given) }
    }

    /// Says which pointers were signed.
    func reportSigned(
        _ pointers: [ChannelPointer], more: (inout JSONWriter) -> Void = { _ in }
    ) throws -> ExitStatus {
        let origin = argument("ORIGIN")
        return try report { writer in
            writer.member("origin", origin)
            writer.member("originId", pointers.first?.origin)
            writer.member("channels", pointers) { writer, pointer in
                writer.member("channel", pointer.channel.description)
                writer.member("sequence", pointer.sequence)
                pointer.writeSigning(to: &writer) { timestamp($0) }
            }
            more(&writer)
        } text: { output in
            for pointer in pointers {
                let signing = pointer.signingText { timestamp($0) } ?? "not signed"
                output.print("Channel \(pointer.channel) of \(origin) is \(signing).")
            }
            if pointers.isEmpty { output.print("\(origin) has no channel.") }
        }
    }
}
