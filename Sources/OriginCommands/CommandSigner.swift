import CASStore
import Console
import HotPush

/// A command that signs: for keys in hardware and key services.
struct CommandSigner: PointerSigner {
    let key: VerificationKey
    let memory: SignedSequences?
    private let command: String
    private let limit: Duration

    /// 64 bytes are 88 digits; line ends may stand between them.
    private static let byteCountMax = 4096

    /// - Parameters:
    ///   - command: what `sh -c` takes.
    ///   - keyFile: the public key that its signatures verify by; what was signed last is noted beside it.
    ///   - limit: so long it may take.
    /// - Throws: as ``VerificationKey/init(file:_:)``.
    init(_ command: String, keyFile: String, within limit: Duration) throws(StoreError) {
        key = try VerificationKey(file: keyFile)
        memory = SignedSequences(besideKey: keyFile)
        self.command = command
        self.limit = limit
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
                "interrupted while --sign-command ran; repeating the command goes on")
        }
        let digits = output.filter { ![UInt8(ascii: "\n"), 13, 32].contains($0) }
        guard let signature = Base64.bytes(String(decoding: digits, as: UTF8.self)),
            signature.count == 64
        else {
            throw failure(
                "answered \(output.count) bytes that are not a signature: 64 bytes in base64")
        }
        return signature
    }

    /// The command is not repeated: it may hold a PIN, and logs keep messages.
    private func failure(_ problem: String) -> StoreError {
        StoreError(
            .signingFailed,
            "nothing is signed: the --sign-command of key \(key.id) \(problem); it gets the bytes to be signed on "
                + "standard input and prints their Ed25519 signature in base64")
    }
}
