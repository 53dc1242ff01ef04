import ClientSystems
import Console
import OriginCommands
import StoreCommands

/// The program: answers the clients of other systems from an origin; `castree origin serve` becomes it.
@main
enum OriginProgram {
    static func main() {
    }
}
