import Console
import OriginCommands
import StoreCommands

extension Invocation {
    /// Does what is to be done in a directory; for a bucket, or a whole origin, becomes the program that reaches it.
    func inDirectory(_ body: (Invocation) throws -> ExitStatus) throws -> ExitStatus {
        if isOriginInBucket || isDeclared("all-of") && isGiven("all-of") {
            try SiblingProgram.pull.become()
        }
        return try body(self)
    }
}
