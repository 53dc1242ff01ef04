import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import WebServer

// What a mirror has to do before an answer may be sent; without one, all files are here.
extension OriginHandler {
    /// What a request for a file of the origin needs first.
    func lack(_ asked: Asked) -> OriginMirror.Lack? {
        guard let mirror, let file = asked.responder.servedFile(asked.head) else { return nil }
        return mirror.lack(file)
    }

    /// The answer, if all that it is sent from is here; the mirror keeps that until it is sent.
    func ready(_ response: PlannedResponse) -> Answer? {
        guard let mirror, let source = response.source else { return made(response, nil) }
        return mirror.hold(source).map { made(response, $0) }
    }

    /// Compares files with their names: all of a new archive, and what a mirror had before this process began.
    ///
    /// - Returns: the hold, or one that others have, too.
    /// - Throws: what is wrong with a file, and cannot be had anew.
    func proven(
        _ response: PlannedResponse, _ hold: MirrorHold?
    ) throws(StoreError) -> MirrorHold? {
        guard let source = response.source else { return hold }
        let files = source.files
        for file in files {
            if response.plan == nil, mirror?.isProven(file.name) ?? true { continue }
            do throws(StoreError) {
                try contents.verify(file.name.address, size: file.byteCount)
            } catch {
                guard let mirror else { throw error }
                // What a mirror has lost or damaged, its bucket still has.
                try mirror.drop(file.name)
                _ = try mirror.bringNow([file])
                try contents.verify(file.name.address, size: file.byteCount)
            }
        }
        mirror?.prove(files)
        return mirror?.hold(source) ?? hold
    }
}
