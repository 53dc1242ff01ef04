import Console

/// How castree-fsck obeys `--from`: it becomes castree, which makes the same repair and reaches networks.
///
/// - Throws: `noProgram` if castree is installed neither beside this program nor in `libexec/castree`, or cannot be run.
package let repairByCastree: RepairSourceFinder = { invocation, _ in
    let own = System.programPath() ?? ""
    let directory = String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
    let places =
        own.isEmpty ? [] : ["\(directory)/castree", "\(directory)/../libexec/castree/castree"]
    guard let path = places.first(where: System.isProgram) else {
        throw CommandError(
            code: "noProgram",
            message:
                "the program castree, which reaches origins, is not installed: it belongs in \(directory)"
        )
    }
    do throws(SystemError) {
        try System.become(
            path,
            ["--store=\(invocation.argument("STORE"))", "fsck", "--repair"] + invocation.givenWords)
    } catch {
        throw CommandError(code: "noProgram", message: "\(path) could not be run: \(error.text)")
    }
}
