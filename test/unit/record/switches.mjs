// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'log-redacted',
    what: 'T4, I28: a known secret does not come out in the log',
    test: 'log-writer.test.ts',
    file: 'src/features/record/telemetry/log-writer.ts',
    find: 'redactShown(redact(text))',
    replace: 'redactShown(text)',
  },
]
