extension Lifecycle {
    /// Why a version cannot be retired; the raw value ends a sentence.
    enum Need: String, CaseIterable {
        case current = "it is the current version"
        case pending = "it is pending"
        case protected = "it is protected"
        case wayBack = "it is the way back while another version is being tried"
        case embedded = "it is the embedded version"
        case lastKnownGood = "it is the last known good version"
    }

    /// Why a version cannot be retired; `nil` if it can, judging by names alone.
    func need(of version: String) -> Need? {
        if current == version { return .current }
        if pending == version { return .pending }
        if protected.contains(version) { return .protected }
        if wayBack == version { return .wayBack }
        if embedded == version { return .embedded }
        if knownGood == [version] { return .lastKnownGood }
        return nil
    }

    func advice(on need: Need, of version: String) -> String {
        switch need {
        case .current: "activate another one first"
        case .pending:
            "let another one wait first (castree activate VERSION --at-next-boot; if that is the current "
                + "one, none waits)"
        case .protected: "unprotect it first (castree unprotect \(version))"
        case .wayBack: adviceWhileTried
        case .embedded: "adopt a newer one first (castree adopt)"
        case .lastKnownGood:
            "start another one and confirm it first (castree boot, castree confirm)"
        }
    }

    /// Any confirmation ends the attempts that have a version to roll back to, which may be this one.
    private var adviceWhileTried: String {
        guard let current else { return "activate another one, start and confirm it first" }
        return boot?.version == current
            ? "confirm version \(current) first (castree lifecycle shows the token)"
            : "start version \(current) and confirm it first (castree boot, castree confirm)"
    }
}
