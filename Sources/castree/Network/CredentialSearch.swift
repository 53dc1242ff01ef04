import CASStore
import Console
import HotPush
import StoreCommands

/// Finds the user of a web origin, but never on the command line, which everybody can read.
///
/// The URL comes first, and needs no search; then `--netrc-file`, the environment, systemd's credentials
/// (systemd.exec(5), `$CREDENTIALS_DIRECTORY`), `$NETRC`, `~/.netrc`. Only the first source found counts.
struct CredentialSearch {
    private let invocation: Invocation
    private let fileSystem = POSIXFileSystem()

    private static let byteCountMax = 8 << 10

    init(_ invocation: Invocation) { self.invocation = invocation }

    /// The credentials for an origin.
    /// - Parameter url: a URL of the origin.
    /// - Throws: `usage` for incomplete or unsendable credentials; what reading throws.
    func credentials(for url: String) throws -> OriginCredentials {
        if invocation.isDeclared("netrc-file"), let file = try invocation.value("netrc-file") {
            guard System.isReadable(file) else {
                throw CommandError.usage(
                    "--netrc-file takes a file that can be read, not '\(file)'")
            }
            return try netrc(file, url) ?? OriginCredentials(.address, for: url)
        }
        let named = try kind("the environment") { name in
            invocation.environment("CASTREE_ORIGIN_" + name.uppercased())
        }
        if let named { return OriginCredentials(named, for: url) }
        if let directory = set("CREDENTIALS_DIRECTORY") {
            let given = try kind("$CREDENTIALS_DIRECTORY") { name in
                try line(of: "\(directory)/castree-origin-\(name)")
            }
            if let given { return OriginCredentials(given, for: url) }
        }
        if let file = set("NETRC") ?? set("HOME").map({ $0 + "/.netrc" }),
            let found = try netrc(file, url)
        {
            return found
        }
        return OriginCredentials(.address, for: url)
    }

    private func set(_ variable: String) -> String? {
        invocation.environment(variable).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Interprets three values: a token, or a user and a password.
    private func kind(
        _ place: String, _ find: (_ name: String) throws -> String?
    ) throws -> OriginCredentials.Kind? {
        func value(_ name: String) throws -> String? {
            guard let text = try find(name), !text.isEmpty else { return nil }
            guard text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
                throw CommandError.usage(
                    "the \(name) of the origin in \(place) has a control character")
            }
            return text
        }
        switch (try value("token"), try value("user"), try value("password")) {
        case (nil, nil, nil): return nil
        case (let token?, nil, nil): return .token(token)
        case (nil, let user?, let password?):
            // RFC 7617, section 2: the first colon ends the user.
            guard !user.contains(":") else {
                throw CommandError.usage("the user of the origin in \(place) has a colon")
            }
            return .login(user: user, password: password)
        default:
            throw CommandError.usage(
                "\(place) has to name a token of the origin, or a user and a password, and not both"
            )
        }
    }

    private func line(of file: String) throws -> String? {
        let here = POSIXFileSystem.workingDirectory
        do throws(StoreError) {
            var bytes = try fileSystem.contents(here, file, limit: Self.byteCountMax)
            if bytes.last == 10 { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw StoreError(.io, "\(printable(file)) is not a text file")
            }
            return text
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func netrc(_ file: String, _ url: String) throws -> OriginCredentials? {
        guard let mode = System.mode(of: file) else { return nil }
        // libcurl reads the file for each request, and would wait for a writer.
        guard !System.isFifo(file) else {
            throw CommandError.usage(
                "\(printable(file)) is a fifo; a netrc file is read more than once")
        }
        if mode & 0o004 != 0 {
            invocation.diagnostics.warn(
                code: "netrcReadable",
                "everybody on this machine can read \(printable(file)): chmod 600 it")
        }
        return OriginCredentials(.netrc(file), for: url)
    }
}
