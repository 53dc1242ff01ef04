package import CASStore
package import Storage
import VersionTree

/// What the channels of an origin offer: what the log says, or devices' copies of it.
package struct OriginChannels: Sendable {
    private let storage: any ObjectStorage

    /// Looks at nothing yet.
    package init(_ storage: any ObjectStorage) { self.storage = storage }

    /// What channels offer.
    package struct Offered: Sendable {
        /// The pointers, sorted by name.
        package var pointers: [ChannelPointer] = []
        /// Those of the other channels, if one alone was asked for.
        package var others: [ChannelPointer] = []
        /// Why these are the copies that devices see, and not what the log says; `nil` if they are the log's.
        package var reason: String?
    }

    /// What is offered; who may not read the log gets the copies.
    ///
    /// - Parameter only: this channel alone; `nil` for all.
    /// - Throws: `.notFound` if there is no channel; `.accessDenied`, `.badPointer`, `.damagedOrigin`; what reading
    ///   throws.
    package func offered(_ only: ChannelName? = nil) throws(StoreError) -> Offered {
        let hint = try PointerCopy(only ?? .stable, in: storage).hint()
        var reason: String?
        let state: OriginState?
        do throws(StoreError) {
            state = try OriginLog(storage).state(from: hint)
        } catch {
            guard error.code == .accessDenied else { throw error }
            (state, reason) = (nil, "the log of \(storage.place) may not be read")
        }
        var absence: StoreError?
        if state == nil, reason == nil {
            absence = try self.absence(hint)
            reason = absence?.message ?? "there is no log in \(storage.place)"
        }
        let all = if let state { Array(state.pointers.values) } else { try copies(only) }
        let pointers = all.filter { only == nil || $0.channel == only }
            .sorted { $0.channel < $1.channel }
        guard !pointers.isEmpty else {
            if let absence, absence.code == .damagedOrigin { throw absence }
            throw StoreError(
                .notFound,
                "\(storage.place) has no channel\(only.map { " \($0)" } ?? ""); castree publish makes one"
            )
        }
        let others = all.filter { only != nil && $0.channel != only }
        return Offered(
            pointers: pointers, others: others.sorted { $0.channel < $1.channel }, reason: reason)
    }

    /// What says that there is no log; `nil` to those who may not list.
    private func absence(_ hint: Int64) throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            return try OriginTraces(of: storage).absence(namedBy: hint > 0 ? hint : nil)
        } catch {
            guard error.code == .accessDenied else { throw error }
            return nil
        }
    }

    /// The copies that devices read.
    private func copies(_ only: ChannelName?) throws(StoreError) -> [ChannelPointer] {
        var pointers: [ChannelPointer] = []
        var refusal: StoreError?
        let wanted = if let only { [only] } else { try names() }
        for name in wanted {
            do throws(StoreError) {
                let (outcome, bytes) = try storage.bytes(
                    OriginLayout.pointer(name),
                    ReadRequest(byteCountMax: Int64(ChannelPointer.byteCountMax)))
                guard case .found = outcome else { continue }
                pointers.append(try ChannelPointer(parsing: bytes, of: name))
            } catch {
                // Who may not list is refused what is not there.
                guard error.code == .accessDenied else { throw error }
                refusal = error
            }
        }
        if pointers.isEmpty, let refusal { throw refusal }
        return pointers
    }

    private func names() throws(StoreError) -> [ChannelName] {
        do throws(StoreError) {
            let (outcome, bytes) = try storage.bytes(
                OriginLayout.channelList, ReadRequest(byteCountMax: ChannelList.byteCountMax))
            guard case .found = outcome else { return [.stable] }
            return try ChannelList.names(parsing: bytes)
        } catch {
            guard error.code == .accessDenied else { throw error }
            return [.stable]
        }
    }

    /// The deliveries of what channels offer, by address; those that cannot be had are left out.
    /// - Throws: what reading throws, but for a refusal.
    package func deliveries(
        of pointers: [ChannelPointer]
    ) throws(StoreError) -> [ObjectID: Delivery] {
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointers.flatMap(\.releases) {
            guard let published = release.delivery, let version = release.version,
                deliveries[published.address] == nil
            else { continue }
            let key = OriginKey(.delivery, published.address, in: published.epoch)
            do throws(StoreError) {
                let (outcome, bytes) = try storage.bytes(
                    key.path, ReadRequest(byteCountMax: published.byteCount))
                guard case .found = outcome else { continue }
                deliveries[published.address] = try Delivery(bytes, named: published, of: version)
            } catch {
                let harmless: [StoreError.Code] = [.accessDenied, .badPack, .tooLarge]
                guard harmless.contains(error.code) else { throw error }
            }
        }
        return deliveries
    }
}

extension PointerCopy {
    /// The entry that a pointer names: where to begin to look for the end of the log; 0 for none.
    fileprivate func hint() throws(StoreError) -> Int64 {
        do throws(StoreError) {
            return try read().pointer?.log ?? 0
        } catch {
            guard error.code == .accessDenied else { throw error }
            return 0
        }
    }
}
