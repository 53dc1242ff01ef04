import Platform

/// A key that signs for nobody but tests: the same in each run, so that signatures are the same, too.
enum TestRSAKey {
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC09bTqgFlaJ3Ja
        VKmqQB3vhZIiwjD9de4vBdhOynzaUC46T5+FrPbvpxgp31c/UGnu17ng7/X18P1V
        pN3Y0f1PaCJpQvwBV8MyjhUgaK313Qoow6J0LkhHgATrwkcbbUCO2B0bQzl5BTFD
        YlgG8zZA+KBKW6FWp8vHBxPvsCLWIShFEZ/cfQ316luc4fGls7YhWyDz7MsAfUw2
        IYDZJPcuDLdnjQKOmAM2ZQq3PbaQGYBbLqw4jDwh0TzpD4IcQzrpJZCm1tcx2+HE
        bn7jETmsYf1LLNhQBtlWtbRo3iS8XebeBlioz+ngLAHRklD/8bawCX3krxBZarzN
        /+5VkP19AgMBAAECggEADuWlVvgUTawuqUoL9580olnBeIllBWX2eDoydEtjcN4l
        7W34SMW+7xFh7LHdWbHR2V7lXKOp1hfYkHrfOoYQT5UCiYjWpyOlnEf/FukXMm+C
        cm2nNjTzL/5VfrUX1nsC1ApC3HzcbTPkuifimEaLDQPgFORV3q+Ml94OIZlt8hOq
        vN7YHqYuAe7+GiIGcKl0Bvf/xxaNyp7SygwZSPVkdYCoZ3mOOdhVotFRorEEARLn
        iJuWsR/+CYcLsMekHAYj3aCk2KuaJEq4nqNLR1kO2N4XU/oGxMoR3eM4Zv4V+HZV
        S24h3KlQ9oOCmDgeNc6dMZMm+FbIMv2nIYGyvw7UnwKBgQDvXD6yW8gQqMW4la3/
        z5/4BSlcxueLnodLx0NeslYaYKwOkhIcNEdI1vFS9/KbCGFNTAatw1r8FARkca3S
        1TL9PEhmSmxa93KUbNaIQ2Dcf8NKtCEkspGKyJp8EMuC95hxMfYcGC+2s6VWyOOV
        fpUXWculakDMKGTGtRFJZNvuYwKBgQDBiiRH8UqVZYQ7F1RvvFEgOXAmtZTSIQMu
        ZPjI0xEA7rKaGjKDbrM6GcgsQIQV5zFpuIvmuwmrWFUEMRezIw2OrOEY3mQ7FaLj
        AXnmYZvG+6+q4E6sY0C3klVI9Quign4/uZUK90Ro/XsTyNIcE8jfEaTvroC/DM1l
        MZcsnGy6nwKBgQCtOX/ySnQGgm3dQQ3UtSjbMLkXeKd3prnZgJLkBIJFwrKiNNpA
        aSExuMSbO+/qfO0WKLAortm41q+7FX4rt7mYBTmMNc4nIy9b9Uxo/wIpcZkfBi96
        RHUKEFWk9e6ikJdVTEgFWwek3GwK24XA2gQCCy1TQAs29QDBwaaKDCESawKBgGf/
        Yx+FeR5uPm/CSY0BFFbMhodGa4G+W4dCmqzPPgPSQAaurRYTFhvSXs3onRFn+hVl
        JUgGmVuJS6XE+4c2/sH8A7jpR9K3/Z8d2/L/4EU8WVjoz12yt8Pszgc2JdpdZJm5
        j20lEY2ZJ9mpv712pCm5wXdJvcTrjDMkQqemJobhAoGBAL5xOKN2PiQQ9gW/pOMO
        146z4dVDAcbx7zmpmGyQfgmzw+tN5t/qR5xdL2XiBAKXEIaVfkrKVP75hY4WAhOM
        leNb7w7q5F7ZWju3XeGQNcSLVzymYJe9jaEPNeJILhZFJ/yR4GpAzCvaxM/rko/g
        1eetbpCCIK5YRA9xXp0LmCIr
        -----END PRIVATE KEY-----

        """

    static func signer() throws -> RSASigningKey {
        try Array(pem.utf8).withUnsafeBytes { try RSASigningKey(pem: $0) }
    }
}
