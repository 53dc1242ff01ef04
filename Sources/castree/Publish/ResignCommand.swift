import Console
import HotPush
import OriginCommands
import StoreCommands

extension Invocation {
    /// `resign` of an origin in a directory.
    func resignDirectory() throws -> ExitStatus {
        let channel = try signedChannel()
        return try reportSigned(publisher().resign(channel))
    }

    /// `trust rotate` of an origin in a directory.
    func rotateDirectory() throws -> ExitStatus {
        let rotation = try rotation()
        return try reportRotation(publisher().rotate(rotation))
    }
}
