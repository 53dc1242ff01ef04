// Importing CASStore brings its errors, addresses and dates, too.
@_exported public import Platform
