globalThis.almanacVersion = "2.0";
