// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'oauth-same-principal',
    what: 'T1: a grant is of the principal it was made for',
    test: '../identity.test.ts',
    file: 'src/features/access/oauth/identity.ts',
    find: 'grant.principal === found?.id',
    replace: 'true',
  },
]
