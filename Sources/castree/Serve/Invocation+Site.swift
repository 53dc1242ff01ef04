import CASStore
import Console
import ServeFromCAS
import StoreCommands

// The options of `serve` about files: which one a path gets, and with which fields.

extension Invocation {
    func siteOptions() throws -> SiteOptions {
        var options = flag("meteor") ? SiteOptions.meteor : SiteOptions()
        options.index = try requiredValue("index")
        guard SiteOptions.isIndex(options.index) else {
            throw CommandError.usage(
                "--index takes the name of a file, without slashes; not '\(options.index)'")
        }
        // The preset has a fallback of its own, which --fallback replaces.
        if !flag("meteor") || !values("fallback").isEmpty {
            options.fallback =
                switch try requiredValue("fallback") {
                case "none": .none
                case "meteor": .meteor
                default: .navigations
                }
        }
        options.hasCleanURLs = flag("clean-urls")
        options.immutablePrefixes = values("immutable")
        for prefix in options.immutablePrefixes where !prefix.hasPrefix("/") {
            throw CommandError.usage("--immutable takes a path that begins with /, not '\(prefix)'")
        }
        for field in values("header") { try add(field, to: &options) }
        for type in values("type") {
            guard let equals = type.firstIndex(of: "=") else {
                throw CommandError.usage(
                    "--type takes .EXT=TYPE, as in .usdz=model/vnd.usdz+zip, not '\(type)'")
            }
            try parsed { () throws(StoreError) in
                try options.setType(
                    String(type[type.index(after: equals)...]), ofEnding: String(type[..<equals]))
            }
        }
        return options
    }

    /// Adds a field, `NAME: VALUE`, to all files or to those named before it.
    private func add(_ written: String, to options: inout SiteOptions) throws {
        var field = written[...]
        var files: String?
        // No field's name begins with a slash.
        if field.hasPrefix("/"), let blank = field.firstIndex(of: " ") {
            files = String(field[..<blank])
            field = field[blank...].drop { $0 == " " }
        }
        guard !field.hasPrefix("/"), let colon = field.firstIndex(of: ":") else {
            throw CommandError.usage(
                "--header takes 'NAME: VALUE', or 'FILES NAME: VALUE' for some files; what was given has no colon after a name"
            )
        }
        let (name, value) = (
            String(field[..<colon]), String(field[field.index(after: colon)...].drop { $0 == " " })
        )
        try parsed { () throws(StoreError) in
            if let files {
                try options.add(name, value, toFiles: files)
            } else {
                try options.add(name, value)
            }
        }
    }
}
