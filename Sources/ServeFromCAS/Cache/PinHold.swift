import Synchronization
import VersionTree

/// The pin of a served version, or an empty place until a pin can be made.
final class PinHold: Sendable {
    let version: String
    private let pin: Mutex<VersionPin?>

    init(_ version: String, _ pin: VersionPin?) {
        self.version = version
        self.pin = Mutex(pin)
    }

    var isHeld: Bool { pin.withLock { $0 != nil } }

    func take(_ new: VersionPin) { pin.withLock { $0 = new } }
}
