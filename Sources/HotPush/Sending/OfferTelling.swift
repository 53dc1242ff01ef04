package import CASStore

/// Tells the clients of other systems what a channel is about to offer.
///
/// HotPush knows none of them: ClientSystems conforms to it. All calls may throw what reading and writing throws.
package protocol OfferTelling: Sendable {
    /// Whether anybody is told what a channel offers: then its releases need facts.
    func tells(of channel: ChannelName, in clients: ClientLog) throws(StoreError) -> Bool
    /// Adds to the next entry of the log what must stand there with a pointer.
    ///
    /// Called before a pointer is written, and again if that was in vain; also for a pointer that stands already, when
    /// something may be missing. All that the pointer names stands.
    /// - Parameter before: what the pointer is built upon; equal to it if it stands already.
    func tell(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, in clients: ClientLog
    ) throws(StoreError)
}
