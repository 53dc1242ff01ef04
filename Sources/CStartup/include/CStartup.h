// Nothing to call: what stands in startup.c runs before the program.
