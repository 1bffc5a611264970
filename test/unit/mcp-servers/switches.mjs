// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'mcp-own-object',
    what: 'T2: where each principal signs in, each has an object of its own',
    test: 'own-logins.test.ts',
    file: 'src/features/mcp-servers/gateway.ts',
    find: 'principal === undefined ? [] : [principal]',
    replace: '[]',
  },
  {
    name: 'mcp-own-token',
    what: 'T16: without its token nothing goes to the server for a principal',
    test: 'own-logins.test.ts',
    file: 'src/features/mcp-servers/guarded-fetch.ts',
    find: "if (needsToken && isOwnAddress(url, server) && !headers.has('authorization'))",
    replace: 'if (false)',
  },
  {
    name: 'mcp-own-code',
    what: 'T28: a sign-in of a principal ends with the code that its browser showed',
    test: 'own-logins.test.ts',
    file: 'src/features/mcp-servers/oauth/sign-in.ts',
    find: 'kept?.code === code',
    replace: 'kept !== undefined',
  },
  {
    name: 'mcp-late-token',
    what: 'T16: what comes back late to a server that was removed is not kept',
    test: 'server-parts.test.ts',
    file: 'src/features/mcp-servers/server-parts.ts',
    find: 'void (isLeft || store.put(key, value))',
    replace: 'store.put(key, value)',
  },
]
