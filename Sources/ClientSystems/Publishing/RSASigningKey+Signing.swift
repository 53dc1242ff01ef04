package import Platform

extension RSASigningKey: ClientSigner {}
