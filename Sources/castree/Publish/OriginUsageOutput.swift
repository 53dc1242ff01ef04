import CASStore
import Console
import HotPush
import OriginCommands
import StoreCommands
import StrictJSON
import VersionTree

extension Invocation {
    /// `du` of an origin: what it takes by kind, and what its packs save a device.
    /// - Returns: `nil` if these are versions.
    func originUsage(of texts: [String]) throws -> ExitStatus? {
        for text in texts {
            let path: String
            let location: OriginLocation?
            do {
                location = try origin(text).location
            } catch let error as CommandError {
                throw error
            } catch {
                // A text that names no origin may be a version's.
                location = nil
            }
            switch location {
            case nil: continue
            case .web:
                throw CommandError.usage(
                    "du takes versions, or an origin's directory on this machine, not '\(text)'; "
                        + "castree channels URL shows what a server offers")
            case .bucket:
                try checkAlone(text, among: texts)
                try SiblingProgram.pull.become()
            case .directory(let directory): path = directory
            }
            let usage: OriginUsage
            do throws(StoreError) {
                usage = try OriginUsage(of: path)
            } catch {
                guard error.code == .noOrigin else { throw error }
                // No version has such a name.
                guard text.contains("/") else { continue }
                throw CommandError(
                    StoreError(
                        .noOrigin,
                        "there is no origin in \(printable(text)); du takes versions of the store, "
                            + "or the directory of an origin"), .notFound)
            }
            try checkAlone(text, among: texts)
            try refuse(Option.reachingBucket, "is for origins in buckets: s3://BUCKET/PREFIX")
            return try show(usage, of: path)
        }
        return nil
    }

    /// Refuses what stands beside an origin on the command line and is about a store.
    private func checkAlone(_ text: String, among texts: [String]) throws {
        guard texts.count == 1 else {
            throw CommandError.usage(
                "du takes versions, or one origin by itself; '\(text)' is an origin")
        }
        let others = ["html", "by", "top", "largest", "retire"]
        if let other = others.first(where: isGiven) {
            throw CommandError.usage("--\(other) is about a store, and '\(text)' is an origin")
        }
    }

    private func show(_ usage: OriginUsage, of path: String) throws -> ExitStatus {
        try report { writer in
            writer.member("origin", path)
            for (name, figures) in usage.kinds {
                writer.member(name) { writer in
                    writer.member("files", figures.count)
                    writer.member("bytes", figures.byteCount)
                }
            }
            writer.member("channels", usage.pointers) { writer, pointer in
                writer.member("channel", pointer.channel.description)
                pointer.writeSigning(to: &writer, verified: []) { timestamp($0) }
                writer.member("releases", pointer.releases) { writer, release in
                    writer.member("version", release.version?.name.description)
                    writer.member("packs", usage.legs(of: release, in: pointer)) { writer, leg in
                        leg.writeMembers(to: &writer)
                    }
                }
            }
        } text: { output in
            var table = TextTable([.left(""), .right("CONTENT"), .right("FILES")])
            for (name, figures) in usage.kinds {
                table.add([
                    "\(name)", "\(sizes.text(figures.byteCount))",
                    "\(groupedCount(figures.count))",
                ])
            }
            table.print(to: output)
            for pointer in usage.pointers {
                if let signing = pointer.signingText(verified: [], { timestamp($0) }) {
                    output.print("\(pointer.channel): \(signing)")
                }
                for release in pointer.releases {
                    for leg in usage.legs(of: release, in: pointer) {
                        let name = release.version?.name.description ?? ""
                        output.print(
                            "\(pointer.channel): \(leg.sentence(to: name) { sizes.text($0) })")
                    }
                }
            }
        }
    }
}

extension OriginUsage {
    fileprivate var kinds: [(name: String, figures: FileFigures)] {
        // What only some origins have is shown only there.
        let more = [
            ("trust", trust), ("deflated", twins), ("facts", facts), ("clients", clients),
            ("places", places),
            ("log", log),
        ].filter { $0.1.count > 0 }
        return [
            ("objects", objects), ("manifests", manifests), ("packs", packs),
            ("deliveries", deliveries), ("publisher", work),
        ] + more
    }

    fileprivate func legs(of release: OfferedRelease, in pointer: ChannelPointer) -> [DeliveryLeg] {
        guard let document = release.delivery.flatMap({ deliveryDocuments[$0.address] }) else {
            return []
        }
        return DeliveryLeg.all(of: document, release, in: pointer, besides: pointers)
    }
}
