// Protections around remote MCP servers.
const listed = 'test/hostile/mcp.test.ts'
const signIn = 'test/hostile/mcp-sign-in.test.ts'
const link = 'test/unit/mcp/server-link.test.ts'
const administration = 'test/unit/mcp/administration.test.ts'
const login = 'test/unit/mcp/sign-in.test.ts'
const objects = 'test/workers/mcp.workers.test.ts'

const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

export const mcp = [
  ...of(
    'src/mcp/answers.ts',
    ['test/unit/mcp/answers.test.ts'],
    [
      {
        name: 'mcp-asks-person',
        what: 'T18: a server asks a person only where it was allowed',
        find: 'if (!allow.elicitation) return',
        replace: 'if (allow.sampling) return',
      },
      {
        name: 'mcp-asks-by-name',
        what: 'T18: who is asked reads which server asks',
        find: 'asks: ${said}` }',
        replace: 'asks: ${said}`.slice(-said.length) }',
      },
      {
        name: 'mcp-asks-visibly',
        what: 'T18: what is asked has no characters that nobody sees',
        find: 'if (hasInvisible(question as JsonObject))',
        replace: 'if (hasInvisible({}))',
      },
      {
        name: 'mcp-asks-little',
        what: 'T15: what is asked has a size',
        find: 'if (isLarge) return',
        replace: 'if (false) return',
      },
      {
        name: 'mcp-asks-few',
        what: 'T15: only so much is asked at once',
        find: 'if (asks.size >= maxAsks) return',
        replace: 'if (asks.size < 0) return',
      },
      {
        name: 'mcp-sample-tokens',
        what: 'E1: a server has a model say no more than it was allowed',
        find: 'Math.min(asked.maxTokens, allow.sampling.maxTokens)',
        replace: 'asked.maxTokens + 0 * allow.sampling.maxTokens',
      },
    ],
  ),
  ...of(
    'src/mcp/in-call.ts',
    ['test/unit/mcp/in-call.test.ts'],
    [
      {
        name: 'mcp-asks-strays',
        what: 'T18: what may be of another call is nobody’s',
        find: 'isClean && under.size === 1 ?',
        replace: 'under.size > 0 ?',
      },
      {
        name: 'mcp-asks-unclean',
        what: 'T18: a session in which a call ended without its answer is not gone on with',
        find: '        // What it asked may be asked again, or come late.\n        isClean = false\n',
        replace: '',
      },
      {
        name: 'mcp-asks-flood',
        what: 'T15: a server is heard so often in one call',
        find: 'if (heard > maxHeard) throw',
        replace: 'if (heard < 0) throw',
      },
      {
        name: 'mcp-asks-over',
        what: 'E6: a call that waits for somebody is over here',
        find: 'await untilAborted(calls.run(answer, work), stop.signal)',
        replace: 'await calls.run(answer, work)',
      },
      {
        name: 'mcp-asks-no-tools',
        what: 'T18: a server gives the model no tools',
        find: 'return tools === undefined ?',
        replace: 'return tools !== null ?',
      },
      {
        name: 'mcp-asks-later',
        what: 'E6: a server gets no answer, no refusal either, while somebody has yet to answer',
        find: 'return new Promise<never>(() => {})',
        replace: "throw refusal('later')",
      },
    ],
  ),
  ...of(
    'src/mcp/connection.ts',
    ['test/unit/mcp/in-call.test.ts'],
    [
      {
        name: 'mcp-asks-nothing-offered',
        what: 'T18: a server that may ask nobody is told so',
        find: '...(answer && allow.elicitation && { elicitation:',
        replace: '...(answer && { elicitation:',
      },
    ],
  ),
  ...of(
    'src/mcp/sent-secrets.ts',
    [link],
    [
      {
        name: 'mcp-secrets-come-not-back',
        what: 'T4: what opens a server comes back in nothing that it says',
        find: 'values.size === 0 ? text : current()[0](text)',
        replace: 'text',
      },
      {
        name: 'mcp-sent-newest',
        what: 'T4: of what was sent only so much is kept in mind',
        find: 'values.size > maxValues',
        replace: 'values.size < 0',
      },
    ],
  ),
  ...of(
    'src/mcp/quarantine.ts',
    [listed],
    [
      {
        name: 'mcp-pin',
        what: 'T14: what is not as it was approved is not called',
        find: 'if (now?.hash === item.hash) {',
        replace: 'if (now) {',
      },
      {
        name: 'mcp-fresh-list',
        file: 'src/mcp/server-listing.ts',
        what: 'T14: a list that is old is looked at again before a call',
        find: 'seen && ageMs >= 0 && ageMs < freshListMs ? seen',
        replace: 'seen ? seen',
      },
      {
        name: 'mcp-told-again',
        what: 'T14: what changed, went back and changed again is on the record again',
        find: 'if (store.get(told) !== undefined) store.delete(told)',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/mcp/connections.ts',
    [link],
    [
      {
        name: 'mcp-backoff',
        what: 'F22: a server that does not answer is not asked by everyone at once',
        find: 'if (clock.nowMs() < closedUntilMs)',
        replace: 'if (closedUntilMs < 0)',
      },
      {
        name: 'mcp-left-open',
        what: 'F22: a connection that is let go of is not closed under the calls of others',
        find: 'if (isLeft && users === 0)',
        replace: 'if (isLeft)',
      },
      {
        name: 'mcp-counts-once',
        what: 'F22: a call over an older connection says nothing of the one of now',
        find: 'if (open !== mine) return false',
        replace: '',
      },
      {
        name: 'mcp-anew-looks',
        what: 'T14: a connection that begins anew looks at the list again',
        find: 'if (!resume) deps.onAnew(key)',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/mcp/connection.ts',
    [listed],
    [
      {
        name: 'mcp-validator',
        what: 'T15: what a server answers is not checked by a regular expression of its own',
        find: 'const verdict = validator.validate(schema as JsonObject, input as JsonObject)',
        replace:
          'for (const { pattern = "" } of Object.values(Object(schema.properties)) as { pattern?: string }[]) new RegExp(pattern).test(String(Object(input).a).slice(0, 27) + "!"); const verdict = validator.validate(schema as JsonObject, input as JsonObject)',
      },
    ],
  ),
  ...of(
    'src/mcp/guarded-fetch.ts',
    [signIn],
    [
      {
        name: 'mcp-other-hosts',
        what: 'T16: signing in asks no other site',
        find: "if (!isServer && !(config.auth === 'oauth' && mayBeAsked(url, server, config.authHosts)))",
        replace: "if (!isServer && config.auth !== 'oauth')",
      },
      {
        name: 'mcp-secret-address',
        what: 'T16: a header with a secret goes to the address of the server only',
        tests: [listed],
        find: 'if (isOwnAddress(url, server))\n      await',
        replace: 'await',
      },
      {
        name: 'mcp-answer-cap',
        what: 'T15: no more than 4 MiB of an answer is read',
        tests: [listed],
        find: 'const maxBytes = 4 * 1024 * 1024',
        replace: 'const maxBytes = 64 * 1024 * 1024',
      },
      {
        name: 'mcp-around-deadline',
        what: 'T15: what is asked around a call has a deadline',
        find: 'if (callMs === undefined) return maxAroundMs',
        replace: 'if (callMs === undefined) return undefined',
      },
      {
        name: 'mcp-after-call-deadline',
        what: 'T15: a request that a server never answers ends some time after its call',
        tests: ['test/unit/outbound/holes.test.ts'],
        find: 'Math.max(callMs, maxAroundMs) + maxAfterCallMs',
        replace: 'undefined',
      },
    ],
  ),
  ...of(
    'src/mcp/list-all.ts',
    [listed],
    [
      {
        name: 'mcp-list-cap',
        what: 'T15: of a list without end only so much is looked at',
        find: 'if (entries.length >= listingCaps.maxItems) return { entries, isCut: true }',
        replace: '',
      },
      {
        name: 'mcp-list-size',
        what: 'T15: a listing is refused before it is too large for where it is kept',
        find: 'if (reading.bytes > maxListingBytes) throw tooMuchListed()',
        replace: '',
      },
      {
        name: 'mcp-list-deadline',
        what: 'T15: a listing has one deadline for all of its pages',
        find: 'maxTotalTimeout: timeoutMs, signal }',
        replace: 'maxTotalTimeout: timeoutMs }',
      },
    ],
  ),
  ...of(
    'src/mcp/definition-checks.ts',
    [listed],
    [
      {
        name: 'mcp-invisible',
        what: 'T13: what is shown to an operator is all that a model reads',
        find: "if (hasInvisible(definition)) return 'has characters that nobody can see'",
        replace: '',
      },
      {
        name: 'mcp-harmful-uri',
        what: 'T13: no address is approved that harms whoever opens it',
        find: "if (isHarmfulUri(String(uriTemplate ?? '')))",
        replace: 'if (definition === undefined)',
      },
      {
        name: 'mcp-long-names',
        what: 'T13: no name of a property is so long that nobody reads it to its end',
        find: 'if (hasLongName(definition))',
        replace: 'if (definition === undefined)',
      },
    ],
  ),
  ...of(
    'src/contracts/definition-rules.ts',
    [listed],
    [
      {
        name: 'mcp-remote-ref',
        what: 'T15: a schema refers to nothing elsewhere',
        find: "typeof ref === 'string' && !ref.startsWith('#')",
        replace: "ref === ''",
      },
    ],
  ),
  ...of(
    'src/mcp/oauth/finish-login.ts',
    [signIn],
    [
      {
        name: 'mcp-login-state',
        what: 'T28: a sign-in ends with the state that it began with',
        find: 'login.state === state &&',
        replace: '',
      },
      {
        name: 'mcp-login-once',
        what: 'T28: a state counts once, also when two come back at the same time',
        find: 'if (finishing.has(state)) throw notBegun()',
        replace: '',
      },
      {
        name: 'mcp-finish-deadline',
        what: 'T15: an authorization server that never answers holds nobody who comes back',
        tests: [login],
        find: 'await within(timeoutMs, () => transport.finishAuth(params))',
        replace: 'await transport.finishAuth(params)',
      },
      {
        name: 'mcp-rights-deadline',
        file: 'src/mcp/oauth/step-up.ts',
        what: 'T15: an authorization server that never answers holds no sign-in for more rights',
        tests: [login],
        find: 'await within(timeoutMs, () => auth(provider, asked))',
        replace: 'await auth(provider, asked)',
      },
    ],
  ),
  ...of(
    'src/mcp/oauth/provider.ts',
    [signIn],
    [
      {
        name: 'mcp-login-page',
        what: 'T16: the page to sign in at is a page of that site',
        find: 'checkAuthorizationUrl(url, options)',
        replace: '',
      },
      {
        name: 'mcp-client-issuer',
        what: 'T16: the secret of a client by hand goes to its own authorization server',
        find: 'if (!isPinned) return { client_id: clientId, issuer: pinned }',
        replace: '',
      },
      {
        name: 'mcp-client-origin',
        what: 'T16: a client that was registered for one address of this deployment is of no other',
        tests: [login],
        find: '`client ${origin} ${await issuerOf(issuer)}`',
        replace: '`client ${await issuerOf(issuer)}`',
      },
      {
        name: 'mcp-token-size',
        what: 'T15: a token without end is not kept',
        find: 'if (token.length > maxTokenChars)',
        replace: 'if (token.length < 0)',
      },
    ],
  ),
  ...of(
    'src/mcp/administration.ts',
    [administration],
    [
      {
        name: 'mcp-forget-cut',
        what: 'T28: what a remove left that was cut is forgotten by the next',
        find: "if (asked.do === 'remove' && errorCode(error) === 'request_not_found') await at(id).forget()",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/mcp/change-server.ts',
    [administration],
    [
      {
        name: 'mcp-replace-said',
        what: 'T14: a server that is there is replaced only where that is said',
        find: 'if (isThere && !replace)',
        replace: 'if (isThere && !isThere)',
      },
      {
        name: 'mcp-approve-epoch',
        what: 'T14: what is approved is of the server that was looked at',
        find: 'if (change.epoch !== row.epoch)',
        replace: 'if (change.epoch < 0)',
      },
    ],
  ),
  ...of(
    'src/mcp/change-server.ts',
    [objects],
    [
      {
        name: 'mcp-plain-secret',
        what: 'T4: a token of a remote server is named, not written down',
        find: 'if (credentialHeader.test(name) && !schemeAndSecret.test(value))',
        replace: "if (name === '')",
      },
      {
        name: 'mcp-restore-anew',
        what: 'X2: going back brings no server back that was added anew under its name',
        find: 'named?.addedAtMs === row.addedAtMs ? named : undefined',
        replace: 'named',
      },
    ],
    'workers',
  ),
]
