import CASStore
import VersionTree

// Origins of other formats, which describe a release in documents of their own.

extension Pull {
    /// Where an origin's format is remembered; nil if the caller names it, or an option that only castree's format has.
    func formatMemory(
        _ wanted: (any ReleaseFormat)?, _ reference: OriginReference
    ) throws(StoreError) -> KeptAnswer? {
        guard wanted == nil, options.release == nil, reference.channel == nil,
            options.channel == ChannelName.stable.description,
            // With `--force`, the origin must answer.
            !options.isForced, case .web = reference.location
        else { return nil }
        return try KeptAnswer(
            formatOf: reference.location, versions, isChanging: !options.isDryRun)
    }

    /// Returns nil if no format is remembered, or the origin has changed its format.
    func askRemembered(
        _ memory: KeptAnswer?, at location: OriginLocation, _ judges: Bool
    ) throws(StoreError) -> OriginReply? {
        guard let memory, let format = try memory.format() else { return nil }
        do throws(StoreError) {
            return try askDocuments(of: format, at: location, judges)
        } catch {
            guard [.notFound, .badOrigin, .badRelease].contains(error.code) else { throw error }
            memory.forget()
            if error.code == .badRelease { throw error }
            return nil
        }
    }

    /// Throws `.notFound`, `.badOrigin` if none of the format's documents is there; what reading one throws.
    func askDocuments(
        of format: any ReleaseFormat, at location: OriginLocation, _ judges: Bool
    ) throws(StoreError) -> OriginReply {
        let origin = try OriginURL(of: location)
        let layout: DocumentLayout = origin.scheme == "file" ? .directory : .server
        var refusal: StoreError?
        for wanted in format.documents(layout, version: nil) {
            let answer = try list(wanted, at: location)
            if answer.head.status == 204, options.reader != nil {
                return OriginReply(
                    .nothing(["the origin answers that it has nothing to say (204)"]))
            }
            guard answer.head.status == 200 else {
                refusal = format.error(
                    .documentStatus(answer.head.status), at: origin.url(of: wanted.path))
                continue
            }
            let type = answer.head["content-type"]
            guard wanted.accepts(contentType: type) else {
                refusal = StoreError(
                    .notFound,
                    format.message(
                        .documentType(type, beginning: Array(answer.bytes.prefix(60)))))
                continue
            }
            var context = ReleaseContext(
                origin: origin, layout: layout, platform: options.platform)
            context.app = try appIdentity()
            context.device = options.device
            context.groups = options.app.groups
            context.entryCountMax = options.entryCountMax
            switch try format.answer(answer.bytes, context) {
            case .embedded: return OriginReply(try embedded(instead: []))
            case .nothing(let reasons): return OriginReply(.nothing(reasons))
            case .release(let release):
                // Built-in formats validate while they read.
                if options.reader != nil { try release.validate(origin: origin) }
                try release.refuseBeyond(options.limits)
                let offer = FoundRelease(
                    release: release, format: format, location: location, origin: origin,
                    content: try release.contentAddress())
                if let reply = try known(offer, judges) { return reply }
                options.offered(release.version.description, release.isMandatory)
                return OriginReply(.release(offer))
            }
        }
        if let refusal { throw refusal }
        throw try noRelease(at: location)
    }

    private func list(
        _ wanted: ReleaseDocument, at location: OriginLocation
    ) throws(StoreError) -> DocumentFetch.Answer {
        do throws(StoreError) {
            return try access.document(
                wanted.path, at: location, accept: wanted.accept,
                byteCountMax: min(options.listByteCountMax, 512 << 20))
        } catch {
            guard error.code == .tooLarge else { throw error }
            throw StoreError(
                .tooLarge,
                "\(error.message): \(options.entryCountMax) entries need fewer; --max-entries allows "
                    + "more")
        }
    }
}
