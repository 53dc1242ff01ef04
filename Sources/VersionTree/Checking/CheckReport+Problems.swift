package import CASStore

// An object that several versions show has a finding for each place, and is one problem.

extension CheckReport {
    /// What is wrong, each thing once: the findings about one object as one that names every place.
    package var problems: [Finding] {
        var groups: [[Finding]] = []
        var positions: [Subject: Int] = [:]
        for finding in findings {
            guard finding.isOfPlace, let object = finding.object else {
                groups.append([finding])
                continue
            }
            let subject = Subject(object: object, kind: finding.kind)
            if let position = positions[subject] {
                groups[position].append(finding)
            } else {
                positions[subject] = groups.count
                groups.append([finding])
            }
        }
        return groups.map { $0[0].naming($0) }
    }

    /// What is one problem: an object's executable copy may be damaged besides it.
    private struct Subject: Hashable {
        let object: ObjectID
        let kind: Finding.Kind
    }
}

extension Finding {
    /// How many places a sentence names.
    private static let placesMax = 5

    /// Where a version shows the object, as the end of a sentence about it.
    var placePhrase: String { " (used by \(place))" }

    private var place: String { "\(version ?? ""):\(printable(path ?? ""))" }

    /// Whether it is about an object, and about one of the places that show it.
    fileprivate var isOfPlace: Bool {
        object != nil && version != nil && path != nil && message.contains(placePhrase)
    }

    /// The same, naming the places of others.
    fileprivate func naming(_ others: [Finding]) -> Finding {
        guard others.count > 1 else { return self }
        var places = others.prefix(Self.placesMax).map(\.place)
        if others.count > places.count { places.append("\(others.count - places.count) others") }
        let last = places.removeLast()
        var one = self
        one.message = message.replacing(
            placePhrase, with: " (used by \(places.joined(separator: ", ")) and \(last))",
            maxReplacements: 1)
        return one
    }
}
