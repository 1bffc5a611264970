// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'oauth-code-once',
    what: 'F16: a code is good once, whatever KV remembers',
    test: 'oauth.workers.test.ts',
    only: 'F16: is good once also while KV does not know',
    file: 'src/governance/oauth/protocol.ts',
    find: 'return !isFirst || grants.redeem(proof.grant, libraryId, clock.nowMs())',
    replace: 'return true',
  },
  {
    name: 'oidc-signature',
    what: "T16: an ID token has the provider's signature",
    test: 'oauth-upstream.workers.test.ts',
    only: "somebody else's signature",
    file: 'src/governance/oauth/oidc/id-token.ts',
    find: 'if (!(await crypto.subtle.verify(verify, imported, toBytes(signature), signed)))',
    replace: 'if (false)',
  },
  {
    name: 'own-session',
    what: 'T2: a session of another principal looks like one that is not there',
    test: 'switched.workers.test.ts',
    only: 'T2',
    file: 'src/sessions/scope.ts',
    find: 'if (!session || session.principal !== principal) {',
    replace: 'if (!session) {',
  },
  {
    name: 'skill-index-digest',
    what: 'P19: what an index of skills names is what its digest says',
    test: 'installed-skills.workers.test.ts',
    file: 'src/skills/admission/fetch-skills.ts',
    find: 'if (found !== digest)',
    replace: "if (found === '')",
  },
]
