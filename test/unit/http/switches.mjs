// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'roles',
    what: 'I26: a route answers the roles it is for',
    test: 'access.test.ts',
    file: 'src/http/access.ts',
    find: 'if (token ? has(token.scopes) : allowed.includes(role))',
    replace: 'if (token ? has(token.scopes) : true)',
  },
  {
    name: 'list-own-sessions',
    what: 'T2: nobody but operators and auditors sees the sessions of others',
    test: 'list-sessions.test.ts',
    file: 'src/http/sessions/list-sessions.ts',
    find: 'if (principal !== id && !seesEverybody(role)) {',
    replace: 'if (false) {',
  },
  {
    name: 'mcp-own-key-only',
    what: 'T1: an access token signs nobody in at a remote server',
    test: 'mcp-login.test.ts',
    file: 'src/http/own-mcp-logins.ts',
    find: '  if (token)\n',
    replace: '  if (false)\n',
  },
]
