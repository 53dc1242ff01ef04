import CASStore

extension Audience {
    /// Why a device does not get the release, as sentences about the release; empty if it does.
    ///
    /// - Parameters:
    ///   - device: its name in roll-outs; nil for a device that takes part in none.
    ///   - app: says which groups it is in.
    func objections(device: String?, _ app: AppTraits) throws(StoreError) -> [String] {
        var reasons: [String] = []
        if isDisabled { reasons.append("its publisher has disabled it") }
        if !groups.isEmpty, app.groups.isDisjoint(with: groups) {
            let names = groups.prefix(3).map { "\"\(printable($0))\"" }.joined(separator: ", ")
            reasons.append(
                "it is for \(names)\(groups.count > 3 ? " and others" : "") only, and this device "
                    + "does not say that it is one of them")
        }
        if let rollout, try !rollout.includes(device) {
            reasons.append("it is for \(rollout.share) of the devices, and not for this one yet")
        }
        return reasons
    }
}

extension Rollout {
    /// The share as people write it.
    fileprivate var share: String {
        perMille % 10 == 0 ? "\(perMille / 10) %" : "\(perMille / 10).\(perMille % 10) %"
    }
}
