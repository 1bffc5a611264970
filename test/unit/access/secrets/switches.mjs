// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'sealed-under-its-name',
    what: 'I28: one sealed secret cannot stand for another',
    test: '../sealing.test.ts',
    file: 'src/features/access/secrets/sealing.ts',
    find: "lengthPrefixed(['isola-secret', format, name])",
    replace: "lengthPrefixed(['isola-secret', format])",
  },
]
