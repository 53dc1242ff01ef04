import HotPush
import Platform

extension ClientRelease {
    /// What clients that say nothing of themselves cannot be told: all of them get the same answer.
    ///
    /// - Parameters:
    ///   - clients: who, at the beginning of the sentences.
    ///   - kinds: the kinds of requirements that they check themselves.
    func objectionsOfStaticClients(_ clients: String, besides kinds: [String]) -> [ClientObjection]
    {
        var objections: [ClientObjection] = []
        if let rollout = release.rollout, rollout.perMille < 1000 {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "\(clients) say nothing of themselves, so a release is for all or for none: publish it again without "
                        + "--rollout when it is for all"))
        }
        let unsayable = unsayable(besides: kinds)
        if !unsayable.isEmpty {
            let rest =
                kinds.isEmpty
                ? "publish without it" : "require \(kinds.joined(separator: ", ")) alone"
            objections.append(
                ClientObjection(
                    refuses: true,
                    "\(clients) say nothing of themselves, so nobody would get what requires \(unsayable.listed): \(rest)"
                ))
        }
        if content == nil {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "\(clients) cannot be told to go back to what was shipped with the app: publish a version with the same "
                        + "files"))
        }
        return objections
    }
}

extension ClientChannel {
    /// The newest release that is for everybody.
    func newest(besides kinds: [String]) -> Live? {
        live.first { live in
            (live.release.rollout?.perMille ?? 1000) >= 1000 && live.offer.version != nil
                && live.release.requirements.allSatisfy { kinds.contains($0.kind) }
        }
    }
}

extension ClientRelease {
    /// The requirements of kinds that the clients of a system never say: nobody would get the release.
    func unsayable(besides kinds: [String]) -> [Requirement] {
        release.requirements.filter { !kinds.contains($0.kind) }
    }
}

extension [Requirement] {
    /// As people read them: `group testers, fingerprint 12`.
    var listed: String { map { "\($0.kind) \(printable($0.value))" }.joined(separator: ", ") }
}
