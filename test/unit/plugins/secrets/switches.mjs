// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'secret-for-its-host',
    what: 'P24: a secret goes to the granted host only',
    test: 'egress-secrets.test.ts',
    file: 'src/features/plugins/secrets/placeholders.ts',
    find: 'grant.host?.toLowerCase() === host',
    replace: 'grant.host !== host.slice(99)',
  },
  {
    name: 'secret-in-its-slot',
    what: 'P22: a secret goes into the header that its grant names only',
    test: 'egress-secrets.test.ts',
    file: 'src/features/plugins/secrets/placeholders.ts',
    find: '(at ?? usualHeader).toLowerCase() === use.at',
    replace: "(at ?? usualHeader) !== ''",
  },
  {
    name: 'secret-once',
    what: 'P22: a secret stands once in a request',
    test: 'egress-secrets.test.ts',
    file: 'src/features/plugins/secrets/placeholders.ts',
    find: 'seen.set(use.name, place)',
    replace: 'seen.set(place.slice(99), use.name)',
  },
  {
    name: 'secret-of-this-call',
    what: 'T4: a placeholder that was guessed, or kept of another call, is text',
    test: 'egress-secrets.test.ts',
    file: 'src/features/plugins/secrets/placeholders.ts',
    find: "toPlaceholder('([A-Z][A-Z0-9_]{0,63})', nonce)",
    replace: "toPlaceholder('([A-Z][A-Z0-9_]{0,63})', nonce && '[^ ]*')",
  },
  {
    name: 'secret-body-redacted',
    what: 'T4: no body of a reply holds a secret',
    test: 'egress-secrets.test.ts',
    file: 'src/features/plugins/secrets/reply-redactor.ts',
    find: 'redacted === binary ? bytes : toBytes(redacted)',
    replace: 'bytes',
  },
]
