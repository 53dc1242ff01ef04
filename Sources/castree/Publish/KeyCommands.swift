import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON

extension Command {
    static let newKey = Command(
        "key new", summary: "creates a key for signing releases",
        discussion: """
            Writes a private Ed25519 key to FILE, readable only by you, and its public key to \
            FILE.pub, both in PEM, as OpenSSL writes them. Publish with --sign-key FILE, and give \
            FILE.pub to the devices (castree trust add). Anybody who has FILE can publish to them: \
            never keep it at the origin, and keep a copy on a machine that does not publish. An \
            existing key is never overwritten.

                castree key new release.key
                castree publish 42 /srv/www/updates --sign-key release.key
            """,
        arguments: [Argument("FILE", "the file to write", completion: .files)]
    ) { invocation in
        let file = invocation.argument("FILE")
        try refuseOwnPlace(file)
        let key = try SigningKey.generate()
        let publicFile = "\(file).pub"
        if try POSIXFileSystem().status(POSIXFileSystem.workingDirectory, publicFile) != nil {
            throw StoreError(
                .io,
                "\(printable(publicFile)) exists, and keys are never overwritten: choose another name"
            )
        }
        // Owned by the directory's owner, who signs with it, even if root creates it.
        let directory = file.lastIndex(of: "/").map { String(file[...$0]) } ?? "."
        let owners = OwnersFileSystem.around(POSIXFileSystem(), directory: directory)
        try key.write(to: file, owners)
        do throws(StoreError) {
            try key.verificationKey.write(to: publicFile, owners)
        } catch {
            throw StoreError(
                error.code,
                "\(error.message); the key itself is in \(printable(file)): castree key show \(printable(file)) "
                    + "> \(printable(publicFile))", cause: error.cause)
        }
        return try invocation.report { writer in
            writer.member("key", key.verificationKey.id)
            writer.member("file", file)
            writer.member("publicFile", publicFile)
            writer.member("publicKey", key.verificationKey.pem)
        } text: { output in
            output.print(
                "Made key \(key.verificationKey.id): \(file), and its public key, \(publicFile).")
        }
    }

    static let showKey = Command(
        "key show", summary: "prints a key's public key and its id",
        discussion: """
            FILE is a private or a public key. The output can be saved as a public key file. The \
            id, by which messages name the key, goes to standard error, and into the JSON \
            document.

                castree key show release.key > release.key.pub
            """,
        arguments: [Argument("FILE", "the key's file", completion: .files)]
    ) { invocation in
        let key = try invocation.shownKey()
        if !invocation.isJSON { invocation.note("key \(key.id)") }
        return try invocation.report { writer in
            writer.member("key", key.id)
            writer.member("publicKey", key.pem)
        } text: { output in
            for line in key.pem.split(separator: "\n") { output.print("\(String(line))") }
        }
    }
}

extension Invocation {
    fileprivate func shownKey() throws -> VerificationKey {
        let file = argument("FILE")
        do throws(StoreError) {
            return try SigningKey(file: file).verificationKey
        } catch {
            // The command asked for this file, so a missing one is `notFound`.
            if error.code == .notFound { throw CommandError(error, .notFound) }
            guard error.code == .badKey || error.code == .permission else { throw error }
            // A public key is not a private one, and others may read it. Otherwise report the first error.
            guard let key = try? VerificationKey(file: file) else { throw error }
            return key
        }
    }
}
