import CSystem

/// Makes a pipe (pipe(7)) that no child inherits, not even one that another thread is just starting.
/// - Returns: its ends; `nil` with `errno` if the system has none left.
package func openPipe() -> (source: Int32, target: Int32)? {
    var ends: [Int32] = [-1, -1]
    return castree_pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
}
