// A program that imports CASStore gets its errors, addresses and dates, too.
@_exported public import Platform
