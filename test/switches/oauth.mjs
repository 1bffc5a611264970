// The protections of OAuth sign-ins: see switches.mjs.

const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

const flows = 'test/workers/oauth.workers.test.ts'
const upstream = 'test/workers/oauth-upstream.workers.test.ts'
const identity = 'test/unit/governance/oauth/identity.test.ts'
const page = 'test/unit/http/oauth-page.test.ts'

export const oauth = [
  ...of(
    'src/http/oauth/page.ts',
    [page],
    [
      {
        name: 'oauth-name-quoted',
        what: 'T28: what a client calls itself does not read as words of ours',
        find: 'short.replace(/["“”„‟«»＂]/g, "\'")',
        replace: 'short',
      },
    ],
  ),
  ...of(
    'src/http/access.ts',
    [flows],
    [
      {
        name: 'oauth-scopes',
        what: 'I26: a token without the scope is refused where its principal would not be',
        filter: 'may less than its principal',
        find: 'if (token ? has(token.scopes) : allowed.includes(role))',
        replace: 'if (token ? has(token.couldHave) : allowed.includes(role))',
      },
      {
        name: 'oauth-scopes-told',
        what: 'I26: nobody is sent to ask for a scope that they can never get',
        tests: [page],
        project: 'unit',
        filter: 'that a refused token is told of',
        find: 'needed.filter((scope) => token.couldHave.includes(scope))',
        replace: 'needed',
      },
    ],
    'workers',
  ),
  ...of(
    'src/governance/oauth/protocol.ts',
    [flows],
    [
      {
        name: 'oauth-refresh-replayed',
        what: 'T16: a token to renew with that is older than the one before ends its grant',
        filter: 'older than the one before',
        find: 'if (response.status === 400) await endReplayed',
        replace: 'if (response.status === 0) await endReplayed',
      },
      {
        name: 'oauth-refresh-made-up',
        what: 'T16: a token that was made up, or was good a moment ago, ends nothing',
        filter: 'older than the one before',
        find: 'if (!(await retired.has(token))) return',
        replace: '',
      },
      {
        name: 'oauth-refresh-of-its-client',
        what: 'T16: what another client shows ends nothing',
        filter: 'older than the one before',
        find: 'grant.revokedAtMs !== undefined || grant.client !== asking',
        replace: 'grant.revokedAtMs !== undefined',
      },
    ],
    'workers',
  ),
  ...of(
    'src/governance/oauth/token-reader.ts',
    [flows],
    [
      {
        name: 'oauth-role-now',
        what: 'T1: a token may no more than its principal may now',
        filter: 'loses what its principal lost',
        find: '.filter((scope) => couldHave.includes(scope))',
        replace: '',
      },
      {
        name: 'oauth-role-within',
        what: 'P21: whoever shows a token has no more of a role than the token is for',
        tests: [page],
        project: 'unit',
        file: 'src/contracts/scopes.ts',
        filter: 'make an operator no more',
        find: "if (given.includes('plugins:install')) return 'author'",
        replace: "if (given.includes('plugins:install')) return role",
      },
    ],
    'workers',
  ),
  ...of(
    'src/governance/oauth/identity.ts',
    [identity],
    [
      {
        name: 'oauth-grant-holds',
        what: 'T1: a token of a grant that was revoked opens nothing',
        find: 'return revokedAtMs === undefined && nowMs < expiresAtMs',
        replace: 'return nowMs < expiresAtMs',
      },
      {
        name: 'oauth-grant-expires',
        what: 'T1: a token of a grant that expired opens nothing',
        find: 'return revokedAtMs === undefined && nowMs < expiresAtMs',
        replace: 'return revokedAtMs === undefined',
      },
      {
        name: 'oauth-same-principal',
        what: 'T1: a grant is of the principal it was made for',
        find: 'grant.principal === found?.id',
        replace: 'true',
      },
      {
        name: 'oauth-operator-mark',
        what: 'T1: what the operator key signed in ends with it',
        find: 'mark !== undefined && by.mark === mark',
        replace: 'mark !== undefined',
      },
      {
        name: 'oauth-key-active',
        what: 'T1: a token ends with the key it was made with',
        filter: 'ends with the key it was made with',
        tests: [flows],
        project: 'workers',
        find: "stateOf(key, nowMs) === 'active'",
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/governance/oauth/origins.ts',
    [identity],
    [
      {
        name: 'oauth-own-hosts',
        what: 'T17: no issuer is named after a host that is not ours',
        find: "return isOurs && protocol === 'https:' && port === '' ? origin : undefined",
        replace: 'return origin',
      },
      {
        name: 'oauth-own-page',
        what: 'T28: a form from another page is refused',
        find: '(sent === null || sent === origin) &&',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/http/html.ts',
    [page],
    [
      {
        name: 'oauth-page-escapes',
        what: 'T28: what a client says of itself is text',
        find: '.replace(/[&<>"\'`]/g, (one) => `&#${one.charCodeAt(0)};`)',
        replace: '',
      },
      {
        name: 'oauth-page-origin',
        what: 'T28: a browser names the origin of our page with its form',
        filter: 'lets a browser name its origin',
        find: "'referrer-policy': 'same-origin'",
        replace: "'referrer-policy': 'no-referrer'",
      },
      {
        name: 'oauth-page-policy',
        what: 'T28: the page may load nothing',
        find: "`default-src 'none'`,",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/oauth/authorization.ts',
    [flows],
    [
      {
        name: 'oauth-page-ticks',
        what: 'T28: no more than the least is ticked before somebody chose',
        filter: 'has the least ticked',
        find: ': [baselineScope]',
        replace: ': request.scope.filter(isScope)',
      },
      {
        name: 'oauth-pkce-of-all',
        what: 'T16: a client with a secret needs PKCE as well',
        filter: 'needs PKCE of a client with a secret',
        find: 'if (request.codeChallenge === undefined) {',
        replace: 'if (false) {',
      },
      {
        name: 'oauth-answers-limit',
        what: 'T27: a stranger sends no more than so many forms',
        filter: 'sends no more than sixty forms',
        find: "await limit('answers', client)",
        replace: '',
      },
      {
        name: 'oauth-handle-first',
        what: 'T27: the other provider is asked for nobody whom no page was shown to',
        tests: [upstream],
        filter: 'asks the provider for nobody',
        find: '  const { headers, request: approved } = await server',
        replace:
          '  await upstream.begin({ ...secrets, origin })\n  const { headers, request: approved } = await server',
      },
    ],
    'workers',
  ),
  ...of(
    'src/governance/oauth/sign-in.ts',
    [flows],
    [
      {
        name: 'oauth-page-once',
        what: 'F16: a consent page is good for one grant, whatever KV remembers',
        filter: 'F16: is good once also while KV still has it',
        find: 'sha256(`oauth-grant:${handle}`).slice(0, 22)',
        replace: 'sha256(`oauth-grant:${handle}${clock.nowMs()}`).slice(0, 22)',
      },
    ],
    'workers',
  ),
  ...of(
    'src/governance/oauth/protocol.ts',
    [flows],
    [
      {
        name: 'oauth-code-once',
        what: 'F16: a code is good once, whatever KV remembers',
        filter: 'F16: is good once also while KV does not know',
        find: 'return !isFirst || grants.redeem(proof.grant, libraryId, clock.nowMs())',
        replace: 'return true',
      },
      {
        name: 'oauth-ends-for-client',
        what: 'T16: a code or token that was seen ends nothing for another client',
        file: 'src/governance/oauth/kept-grant.ts',
        filter: 'that somebody saw ends nothing',
        find: 'if (!kept || kept.clientId !== client) return false',
        replace: 'if (!kept) return false',
      },
      {
        name: 'oauth-ends-whose',
        what: 'T16: whose grant it is the table says, not the token',
        file: 'src/governance/oauth/kept-grant.ts',
        filter: 'that somebody saw ends nothing',
        find: '`grant:${encodeURIComponent(principal)}:${libraryId}`',
        replace: "`grant:${secret.split(':', 1).join()}:${libraryId}`",
      },
      {
        name: 'oauth-documents-limit',
        what: 'T27: a stranger has no more than so many documents fetched',
        filter: 'has no more than sixty documents fetched',
        find: "await limit('documents', client)",
        replace: '{}',
      },
    ],
    'workers',
  ),
  ...of(
    'src/governance/oauth/strangers-log.ts',
    ['test/unit/governance/oauth/strangers-log.test.ts'],
    [
      {
        name: 'oauth-strangers-record',
        what: 'T27: what strangers bring about does not fill the record',
        find: 'if (retryAfterMs !== undefined) return void',
        replace: 'if (retryAfterMs !== undefined) void',
      },
    ],
  ),
  ...of(
    'src/governance/oauth/oidc/id-token.ts',
    [upstream],
    [
      {
        name: 'oidc-signature',
        what: "T16: an ID token has the provider's signature",
        filter: "somebody else's signature",
        find: 'if (!(await crypto.subtle.verify(verify, imported, toBytes(signature), signed)))',
        replace: 'if (false)',
      },
      {
        name: 'oidc-issuer',
        what: 'T16: an ID token is of the provider that was asked',
        filter: 'refuses another issuer, on record',
        find: 'claim.iss === issuer &&',
        replace: '',
      },
      {
        name: 'oidc-audience',
        what: 'T16: an ID token is for us',
        filter: 'refuses another audience',
        find: 'audience.includes(clientId) &&',
        replace: '',
      },
      {
        name: 'oidc-nonce',
        what: 'T16: an ID token is of this sign-in',
        filter: 'refuses another nonce',
        find: 'claim.nonce === nonce &&',
        replace: '',
      },
      {
        name: 'oidc-email-checked',
        what: 'T16: an e-mail counts only if the provider checked it',
        filter: 'an e-mail nobody checked',
        find: '...(isChecked && claim.email && { email: claim.email })',
        replace: '...(claim.email && { email: claim.email })',
      },
    ],
    'workers',
  ),
]
