import Foundation

/// Runs a script of a real shell.
enum Shell {
    struct Failure: Error {
        let status: Int32
    }

    /// Returns what the script prints on standard output.
    static func run(_ shell: String, _ script: String) throws -> String {
        let quoted = "'" + script.replacing("'", with: #"'\''"#) + "'"
        guard let stream = popen("\(shell) -c \(quoted) 2>/dev/null", "r") else {
            throw Failure(status: errno)
        }
        var output: [UInt8] = []
        while true {
            let byte = fgetc(stream)
            if byte == EOF { break }
            output.append(UInt8(truncatingIfNeeded: byte))
        }
        let status = pclose(stream)
        if status != 0 { throw Failure(status: status) }
        return String(decoding: output, as: UTF8.self)
    }
}
