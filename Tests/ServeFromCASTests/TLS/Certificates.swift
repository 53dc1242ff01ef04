import StorageTestSupport

/// Certificates of every kind, made once by the openssl command line; files in a directory of its own.
struct Certificates: Sendable {
    let directory: URL

    static let shared = Result {
        let new = try Certificates()
        made.withLock { $0 = new.directory }
        atexit {
            guard let directory = Certificates.made.withLock({ $0 }) else { return }
            // What cannot be removed is in a temporary directory.
            try? FileManager.default.removeItem(at: directory)
        }
        return new
    }
    private static let made = Mutex<URL?>(nil)

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// An authority; certificates signed by it for localhost and 127.0.0.1, for another host, out of
    /// its time, for an address alone; a self-signed one; another authority's; an encrypted key.
    private init() throws {
        let base =
            ProcessInfo.processInfo.environment["CASTREE_TEST_TMP"]
            ?? FileManager.default.temporaryDirectory.path
        directory = URL(filePath: base).appending(path: "castree-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(Self.script.utf8).write(to: directory.appending(path: "make.sh"))
        let made = try OtherProgram(["sh", "-e", "make.sh"], in: directory.path)
        try require(made.status == 0, "openssl is needed for this test")
    }

    private static let script = """
        authority() {
          openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3000 \\
            -keyout "$1.key" -out "$1.pem" -subj "/CN=Test $1" -addext basicConstraints=critical,CA:TRUE
        }
        leaf() { # name, authority, subjectAltName, days, serial
          openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" \\
            -out "$1.csr" -subj "/CN=leaf"
          printf 'subjectAltName=%s\\n' "$3" > "$1.ext"
          openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -set_serial "$5" \\
            -days "$4" -extfile "$1.ext" -out "$1.pem"
        }
        authority ca
        authority stranger
        leaf good ca DNS:localhost,IP:127.0.0.1,DNS:kiosk.example 3000 11
        leaf name ca DNS:localhost 3000 12
        leaf elsewhere ca DNS:elsewhere.example,IP:192.0.2.1 3000 13
        leaf expired ca DNS:localhost -1 14
        leaf unknown stranger DNS:localhost 3000 15
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3000 \\
          -keyout self.key -out self.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost
        openssl pkey -in good.key -aes128 -passout pass:secret -out encrypted.key
        echo 'no certificate' > text.pem
        """
}
