import CASStore
import Console
import CurlTransport
import HotPush
import Origin
import S3
import Storage
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let channels = Command(
        "channels", summary: "lists an origin's channels and the releases they offer",
        discussion: """
            URL is an origin made by castree publish: a web server's URL, a directory, \
            s3://BUCKET/PREFIX, or the URL of one channel's pointer. A device takes the newest \
            release that is meant for it. For each release the command lists the packs that lead \
            to it and what each would cost a device, including all requests. For a staged \
            roll-out it says whether that includes the device that --device names, or else that \
            of the local store; a store chooses its device id when it first pulls such a release. \
            No store is needed. For a bucket it shows the bucket's own log if you may read it, \
            otherwise the pointers that devices see.

            Anybody who can write to the origin can claim that a key has signed. Signatures are \
            verified only for the keys that --trust names.

                castree channels https://example.org/app
                castree channels https://example.org/app --trust release.pub
                castree channels s3://updates/app
                castree channels ./origin --json | jq -r '.[].channel'
            """,
        arguments: [
            Argument(
                "URL", "the origin's URL or directory, or s3://BUCKET/PREFIX",
                completion: .directories)
        ],
        options: [
            .text(
                "trust", placeholder: "FILE",
                "verify the signatures of this public key; repeatable", repeats: true,
                completion: .files),
            .text(
                "device", placeholder: "ID",
                "say whether roll-outs include this device [default: that of the local store]"),
        ] + Option.reaching
    ) { try $0.channels() }
}

extension Invocation {
    func channels() throws -> ExitStatus {
        let origin = argument("URL")
        let keys = try keysAskedFor()
        // Refused before any request.
        let reference = try self.origin(origin)
        try refuseBucketAccess(to: reference.location)
        if case .bucket(let bucket) = reference.location {
            return try channels(of: bucket, reference.channel, keys)
        }
        let access = OriginAccess(
            over: try transport(to: reference.location, connectionOptions()),
            retries: try retryPolicy(), tell: retryTeller,
            isInterrupted: { Interruption.isRequested })
        let pointers = try askedOrigin { () throws(StoreError) in
            try access.pointers(of: origin) { (directory, there, only) throws(StoreError) in
                try directory.tellLost(but: there, only) {
                    diagnostics.warn(code: "damagedOrigin", $0.message)
                }
            }
        }
        return try show(pointers, access.deliveries(of: pointers, at: origin), keys)
    }

    private func channels(
        of location: BucketLocation, _ only: ChannelName?, _ keys: TrustedKeys?
    ) throws -> ExitStatus {
        let channels = OriginChannels(try openBucket(location))
        let offered = try askedOrigin { () throws(StoreError) in try channels.offered(only) }
        if let reason = offered.reason {
            note("these are the pointers that devices see: \(reason)")
        }
        return try show(
            offered.pointers, channels.deliveries(of: offered.pointers), keys,
            besides: offered.others)
    }

    private func keysAskedFor() throws -> TrustedKeys? {
        let files = values("trust")
        if files.isEmpty { return nil }
        var keys: [VerificationKey] = []
        for file in files { keys.append(try VerificationKey(file: file)) }
        return try TrustedKeys(keys)
    }

    private func show(
        _ pointers: [ChannelPointer], _ deliveries: [ObjectID: Delivery], _ keys: TrustedKeys?,
        besides others: [ChannelPointer] = []
    ) throws -> ExitStatus {
        let all = pointers + others
        // If the store's device name cannot be read, continue without it: the question is about the origin's offers.
        let device = try value("device") ?? storeIfAny().flatMap { try? $0.drawnDevice }
        return try reportDocument { writer in
            try writer.objects(pointers) { writer, pointer in
                try pointer.writeMembers(
                    to: &writer, deliveries, all, keys?.signers(of: pointer) ?? [], device)
            }
        } text: { output in
            var table = TextTable([
                .left("CHANNEL"), .left("OFFERS"), .right("SEQUENCE"), .left("SINCE"), .left(""),
            ])
            for pointer in pointers {
                if pointer.releases.isEmpty {
                    table.add([
                        "\(pointer.channel.description, .bold)", "nothing",
                        "\(String(pointer.sequence))", "\(timestamp(pointer.createdAt))", "",
                    ])
                }
                for (index, release) in pointer.releases.enumerated() {
                    try table.add(
                        release.cells(index == 0 ? pointer.channel.description : "", device))
                }
            }
            table.print(to: output)
            if device == nil, pointers.contains(where: { $0.releases.contains(where: \.isPartial) })
            {
                output.print(
                    "Roll-outs choose devices by id, which a store draws at its first pull of one. "
                        + "--device ID tells whether a device is included.")
            }
            for pointer in pointers {
                let channel = pointers.count > 1 ? "\(pointer.channel): " : ""
                let signers = keys?.signers(of: pointer) ?? []
                if let signing = pointer.signingText(verified: signers) {
                    output.print("\(channel)\(signing)")
                }
                if !pointer.withdrawn.isEmpty {
                    let names = pointer.withdrawn.map(\.name.description)
                    output.print("\(channel)withdrawn: \(names.joined(separator: ", "))")
                }
                for release in pointer.releases {
                    for entry in release.entries(in: pointer, deliveries, all) {
                        let name = release.version?.name.description ?? ""
                        output.print("\(channel)\(entry.sentence(to: name) { sizes.text($0) })")
                    }
                }
            }
        }
    }
}

extension ChannelPointer {
    fileprivate func writeMembers(
        to writer: inout JSONWriter, _ deliveries: [ObjectID: Delivery], _ all: [ChannelPointer],
        _ signers: [String], _ device: String?
    ) throws {
        writer.member("channel", channel.description)
        writer.member("sequence", Int(sequence))
        writer.member("createdAt", timestamp(createdAt))
        writeSigning(to: &writer, verified: signers)
        writer.member("withdrawn", withdrawn) { writer, version in
            writer.member("version", version.name.description)
            writer.member("content", version.content.description)
        }
        try writer.member("releases", releases) { writer, release in
            try release.writeMembers(to: &writer, device)
            writer.member("packs", release.entries(in: self, deliveries, all)) { writer, entry in
                entry.writeMembers(to: &writer)
            }
        }
    }
}

extension ChannelRelease {
    fileprivate var isPartial: Bool { rollout.map { $0.perMille < 1000 } ?? false }

    /// Whether a partial roll-out reaches a device; `nil` if it is for all, or no device was named.
    private func reaches(_ device: String?) throws(StoreError) -> Bool? {
        guard isPartial, let rollout, let device else { return nil }
        return try rollout.includes(device)
    }

    fileprivate func writeMembers(to writer: inout JSONWriter, _ device: String?) throws {
        writer.member("version", version?.name.description)
        writer.member("embedded", target == .embedded)
        writer.member("sequence", Int(sequence))
        writer.member("createdAt", timestamp(createdAt))
        writer.member("content", version?.content.description)
        writer.member("manifest", version?.manifest.description)
        writer.member("mandatory", isMandatory)
        writer.member("perMille", rollout?.perMille ?? 1000)
        writer.key("reachesDevice")
        if let isReached = try reaches(device) { writer.bool(isReached) } else { writer.null() }
        writer.member("requirements", requirements) { writer, requirement in
            writer.member("kind", requirement.kind)
            writer.member("value", requirement.value)
            writer.member("platform", requirement.platform)
        }
    }

    fileprivate func entries(
        in pointer: ChannelPointer, _ deliveries: [ObjectID: Delivery], _ all: [ChannelPointer]
    ) -> [DeliveryEntry] {
        guard let document = delivery.flatMap({ deliveries[$0.address] }) else { return [] }
        return DeliveryEntry.all(of: document, self, in: pointer, besides: all)
    }

    fileprivate func cells(_ channel: String, _ device: String?) throws -> [DisplayText] {
        let offered = version.map { "version \($0.name)" } ?? "the embedded version"
        var remarks: [String] = []
        if isPartial, let rollout {
            let isReached = try reaches(device).map { $0 ? ", this one too" : ", not this one" }
            remarks.append("to \(rollout.perMille) of 1,000 devices\(isReached ?? "")")
        }
        if isMandatory { remarks.append("mandatory") }
        for requirement in requirements {
            remarks.append("needs \(requirement.kind) \(requirement.value)")
        }
        return [
            "\(channel, .bold)", "\(offered)", "\(String(sequence))", "\(timestamp(createdAt))",
            "\(remarks.joined(separator: ", "))",
        ]
    }
}
