import HotPush
import ServeFromCAS

extension SwitchingRule {
    /// The decision to switch, at the moments that pages have.
    init(_ policy: SwitchPolicy, isForced: Bool, isBackground: Bool) {
        func switches(at moment: SwitchMoment) -> Bool {
            // The judge of starts waits for the confirmation of the current version by itself.
            SwitchDecision.decide(
                policy, isForced: isForced, at: isBackground ? .background : moment,
                isTrusted: true) == .switchNow
        }
        self.init(waitsForStart: !switches(at: .navigation), reloads: switches(at: .ready))
    }
}
