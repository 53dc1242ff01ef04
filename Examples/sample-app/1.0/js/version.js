globalThis.almanacVersion = "1.0";
