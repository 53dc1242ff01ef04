import CASStore
import ClientSystems
import Console
import HotPush
import Origin

/// A command that signs: for keys in hardware and key services.
struct CommandSigner: PointerSigner {
    let key: VerificationKey
    let memory: SignedSequences?
    private let program: SigningProgram

    /// - Parameters:
    ///   - command: the argument of `sh -c`.
    ///   - keyFile: the public key that verifies its signatures; the last thing signed is noted beside it.
    ///   - limit: how long it may take.
    /// - Throws: as ``VerificationKey/init(file:_:)``.
    init(_ command: String, keyFile: String, within limit: Duration) throws(StoreError) {
        key = try VerificationKey(file: keyFile)
        memory = SignedSequences(of: key.id, beside: keyFile)
        program = SigningProgram(
            command: command, limit: limit, name: "--sign-command of key \(key.id)",
            kind: "Ed25519 signature", byteCounts: 64...64)
    }

    func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] { try program.sign(bytes) }
}

/// A command that gets bytes on its standard input and prints their signature in base64.
struct SigningProgram: ClientSigner {
    let command: String
    let limit: Duration
    let name: String
    let kind: String
    let byteCounts: ClosedRange<Int>

    /// A signature is some hundred digits; line ends may stand between them.
    private static let byteCountMax = 4096

    /// A command that signs for the clients of another system, by RSA with 2,048 to 8,192 bits.
    static func signing(
        for system: ClientSystem, by command: String, within limit: Duration
    ) -> SigningProgram {
        SigningProgram(
            command: command, limit: limit, name: "--client-sign-command of \(system.rawValue)",
            kind: "RSA signature (PKCS #1 v1.5, SHA-256)", byteCounts: 256...1024)
    }

    func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] {
        let (ending, output): (FilterProgram.Ending, [UInt8])
        do throws(SystemError) {
            (ending, output) = try FilterProgram.run(
                command, on: bytes, answering: Self.byteCountMax, within: limit)
        } catch {
            throw failure("could not be started: \(error)")
        }
        switch ending {
        case .exited(0): break
        case .exited(let status): throw failure("ended with status \(status)")
        case .killed: throw failure("was ended by a signal")
        case .late: throw failure("did not end within --sign-timeout, and was ended")
        case .talkative: throw failure("answered more than \(Self.byteCountMax) bytes")
        case .interrupted:
            throw StoreError(
                .interrupted,
                "interrupted while the \(name) ran; repeat the command to continue")
        }
        let digits = output.filter { ![UInt8(ascii: "\n"), 13, 32].contains($0) }
        guard let signature = Base64.bytes(String(decoding: digits, as: UTF8.self)) else {
            throw failure("answered \(output.count) bytes that are not a signature in base64")
        }
        guard byteCounts ~= signature.count else {
            throw failure("answered \(signature.count) bytes that are not a signature")
        }
        return signature
    }

    /// The command is not repeated: it may hold a PIN, and logs keep messages.
    private func failure(_ problem: String) -> StoreError {
        StoreError(
            .signingFailed,
            "nothing is signed: the \(name) \(problem); it must read the bytes from standard input and print their \(kind) in base64"
        )
    }
}
