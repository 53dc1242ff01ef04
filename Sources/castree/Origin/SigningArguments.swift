import CASStore
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON

extension Option {
    static let signing: [Option] =
        signers + [
            .flag(
                "unsigned",
                "allow fewer signatures than before, or none; devices that trust the keys refuse the result"
            ),
            .flag(
                "adopt",
                "accept what the channel offers now, whoever wrote it, and supersede what devices "
                    + "have seen; look at it first, and if it is from before a change of keys, run castree "
                    + "fsck ORIGIN --repair --from COPY first"
            ),
            trustedKey,
            .text(
                "origin-id", placeholder: "HEX",
                "the id of the origin, if its pointers are lost"),
        ]

    static let signers: [Option] = [
        .text(
            "sign-key", placeholder: "FILE", "sign with the private key in this file; repeatable",
            repeats: true, environment: "CASTREE_SIGN_KEY", completion: .files),
        .text(
            "sign-command", placeholder: "COMMAND",
            "sign with this command, which reads the bytes on standard input and prints their "
                + "signature in base64; repeatable",
            repeats: true),
        .text(
            "sign-command-key", placeholder: "FILE",
            "the public key that verifies the command's signatures; one for each --sign-command",
            repeats: true, completion: .files),
        .text(
            "sign-timeout", placeholder: "TIME", "stop a --sign-command after this long",
            fallback: "60s"),
        .text(
            "valid-for", placeholder: "TIME",
            "let the signature expire after this long: 24h, 30d, or never [default: as before]"
        ),
    ]

    static let trustedKey = Option.text(
        "trust", placeholder: "FILE",
        "require this public key's signature on the existing pointer [default: those of the signing keys]; repeatable",
        repeats: true, completion: .files)
}

extension Invocation {
    /// The signing policy of the command line.
    /// - Throws: `usage`; what reading keys throws.
    func signing() throws -> PointerSigning {
        var signing = PointerSigning()
        signing.signers = try signers()
        signing.expiry = try expiry()
        for file in values("trust") { signing.trusted.append(try VerificationKey(file: file)) }
        signing.adopts = isSet("adopt")
        signing.allowsFewer = isSet("unsigned")
        if isDeclared("origin-id"), let id = try value("origin-id") {
            guard ChannelPointer.isOriginID(id) else {
                throw CommandError.usage(
                    "--origin-id takes 32 lower-case hexadecimal digits, not '\(id)'")
            }
            signing.origin = id
        }
        let needsSigner = ["trust", "origin-id", "valid-for"]
        if signing.signers.isEmpty,
            let option = needsSigner.first(where: { isDeclared($0) && isGiven($0) })
        {
            throw CommandError.usage("--\(option) needs --sign-key or --sign-command")
        }
        try parsed { () throws(StoreError) in try signing.validate() }
        return signing
    }

    private func signers() throws -> [any PointerSigner] {
        var files = values("sign-key")
        let commands = values("sign-command")
        let keys = values("sign-command-key")
        let isUnsigned = isSet("unsigned")
        // The variable applies to every command, but --unsigned overrides it.
        if files.isEmpty, commands.isEmpty, !isUnsigned, let file = try value("sign-key") {
            files = [file]
        }
        guard commands.count == keys.count else {
            throw CommandError.usage(
                "each --sign-command needs a --sign-command-key, the public key of its signatures")
        }
        var signers: [any PointerSigner] = []
        for file in files { signers.append(try KeyFileSigner(file: file)) }
        let limit = try duration("sign-timeout") ?? .seconds(60)
        for (command, key) in zip(commands, keys) {
            signers.append(try CommandSigner(command, keyFile: key, within: limit))
        }
        return signers
    }

    private func expiry() throws -> PointerSigning.Expiry {
        guard let text = try value("valid-for") else { return .kept }
        if text == "never" { return .never }
        guard let seconds = Self.seconds(text), 1...Self.validityMax ~= seconds else {
            throw CommandError.usage(
                "--valid-for takes a number and s, m, h, d or w, up to a hundred years, or never, not '\(text)'"
            )
        }
        return .after(seconds)
    }

    private static let validityMax: Int64 = 100 * 365 * 86_400
}

extension ChannelPointer {
    /// The signers and the expiry, as the end of a sentence; `nil` if it is not signed.
    /// - Parameter signers: the keys whose signatures verify, for a pointer that somebody else may have written.
    func signingText(verified signers: [String]? = nil) -> String? {
        guard isSigned else { return nil }
        func list(_ keys: [String]) -> String {
            "\(keys.count == 1 ? "key" : "keys") \(keys.joined(separator: ", "))"
        }
        let end = expiresAt.map { ", until \(timestamp($0))" } ?? ""
        let keys = signatures.map(\.key)
        guard let signers else { return "signed by \(list(keys))\(end)" }
        let claimed = keys.filter { !signers.contains($0) }
        var parts: [String] = []
        if !signers.isEmpty { parts.append("signed by \(list(signers)) (verified)") }
        if !claimed.isEmpty {
            parts.append("says it is signed by \(list(claimed)) (not verified)")
        }
        return parts.joined(separator: "; ") + end
    }

    /// Writes the signers: the same members if there are none.
    /// - Parameter signers: the keys whose signatures verify, for a pointer that somebody else may have written; the
    ///   signatures that it claims to have are written beside them.
    func writeSigning(to writer: inout JSONWriter, verified signers: [String]? = nil) {
        let claimed = signatures.map(\.key)
        writer.member("signedBy", signers ?? claimed)
        if signers != nil { writer.member("saysSignedBy", claimed) }
        writer.member("expiresAt", expiresAt.map { timestamp($0) })
        writer.key("trustVersion")
        if isSigned {
            writer.integer(trustVersion ?? TrustFile.firstVersion)
        } else {
            writer.null()
        }
    }
}
