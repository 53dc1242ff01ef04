// What CASStore speaks of is its reader's as well: errors, addresses, dates.
@_exported public import Platform
