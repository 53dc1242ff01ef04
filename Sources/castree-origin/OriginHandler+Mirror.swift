import CASStore
import ClientSystems
import HotPush
import ServeFromCAS
import Storage
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

    /// Has the files of an answer come that are not here, and compares those of a new archive with their names.
    ///
    /// - Returns: what keeps them in the mirror.
    /// - Throws: what is wrong with a file, and cannot be had anew.
    func proven(
        _ response: PlannedResponse, since asked: Int64
    ) throws(StoreError) -> CacheHold? {
        guard let source = response.source else { return nil }
        let hold = try mirror?.bring(source.files, since: asked)
        for file in response.plan == nil ? [] : source.files {
            do throws(StoreError) {
                try contents.verify(file.name.address, size: file.byteCount)
            } catch {
                guard let mirror else { throw error }
                // What a mirror has lost or damaged, its bucket still has.
                try mirror.drop(file.name)
                _ = try mirror.bring([file])
                try contents.verify(file.name.address, size: file.byteCount)
            }
        }
        return mirror?.hold(source) ?? hold
    }
}
