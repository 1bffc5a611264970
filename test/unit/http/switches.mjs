// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'roles',
    what: 'I26: a route answers the roles it is for',
    test: 'access.test.ts',
    file: 'src/platform/routes/mount.ts',
    find: 'if (token ? has(token.scopes) : allowed.includes(role))',
    replace: 'if (token ? has(token.scopes) : true)',
  },
  {
    name: 'list-own-sessions',
    what: 'T2: nobody but operators and auditors sees the sessions of others',
    test: 'list-sessions.test.ts',
    file: 'src/platform/routes/queries.ts',
    find: 'if (principal !== id && !seesEverybody(role)) {',
    replace: 'if (false) {',
  },
  {
    name: 'mcp-own-key-only',
    what: 'T1: an access token signs nobody in at a remote server',
    test: '../mcp-servers/mcp-login.test.ts',
    file: 'src/features/mcp-servers/routes/own-login-routes.ts',
    find: '  if (token)\n',
    replace: '  if (false)\n',
  },
  {
    name: 'public-skills-only',
    what: 'I26: without a key nobody gets a skill that was not named for anybody',
    test: 'agent-skills.test.ts',
    file: 'src/features/skills/routes/agent-skills.ts',
    find: 'const names = exposed.public_skills',
    replace: 'const names = [...exposed.skills, ...exposed.public_skills]',
  },
  {
    name: 'mcp-skill-is-ours',
    what: 'N10: under the name of a skill that we offer no plugin and no server has a resource',
    test: '../mcp/skills.test.ts',
    file: 'src/surfaces/mcp/offered-resources.ts',
    find: '|| isOfSkill({ skills }, uri)',
    replace: '',
  },
]
