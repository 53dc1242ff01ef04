internal import Console

extension Option {
    /// How to reach an origin: the options of every command that does.
    static let reaching: [Option] = [
        .text(
            "timeout", placeholder: "TIME",
            "give up on a connection that is silent for this long",
            fallback: "30s"),
        .text(
            "connect-timeout", placeholder: "TIME", "give up connecting after this long",
            fallback: "20s"),
        .text(
            "total-timeout", placeholder: "TIME",
            "end any request that takes longer than this; the next one goes on from there"),
        .text("proxy", placeholder: "URL", "reach the origin through this proxy"),
        .text(
            "cacert", placeholder: "FILE",
            "trust these certificates instead of the system's",
            completion: .files),
    ]
}
