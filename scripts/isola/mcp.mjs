// isola mcp …: remote MCP servers, what they offer, and what of it is approved.
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { confirm as agreed } from './confirm.mjs'
import { toServers } from './mcp-import.mjs'
import { short, shown, table } from './text.mjs'
import { UsageError } from './usage.mjs'

const path = '/api/operator/mcp'
const of = (id, what = '') => `${path}/${encodeURIComponent(id)}${what && `/${what}`}`
const post = (request, to, json = {}) => request(to, { method: 'POST', json })

function only(args) {
  if (args.length === 1) return args[0]
  throw new UsageError(`<id>: give one, there are ${args.length}.`)
}

function toHeaders(lines = []) {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      if (at < 1) throw new UsageError(`--header: "${short(line, 40)}" is not 'Name: value'.`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

/** What it may ask for in the middle of a call; nothing unless it is said. */
function toAllow({ elicitation, 'sampling-tokens': tokens }) {
  if (!elicitation && tokens === undefined) return {}
  const maxTokens = Number(tokens ?? 1)
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    throw new UsageError('--sampling-tokens: give a whole number above 0.')
  return {
    allow: {
      ...(elicitation && { elicitation: true }),
      ...(tokens !== undefined && { sampling: { maxTokens } }),
    },
  }
}

async function fromFile(file, stdin) {
  const json = file === '-' ? await text(stdin) : readFileSync(file, 'utf8')
  try {
    return toServers(JSON.parse(json))
  } catch (error) {
    throw new UsageError(`--file: ${error.message}`)
  }
}

async function add({ args, values, request, print, stdin }) {
  const { url, header, file, oauth, exclusive, 'auth-host': authHosts } = values
  const { 'client-id': clientId, 'client-secret': clientSecret, issuer } = values
  if ((file === undefined) === (url === undefined))
    throw new UsageError('Give either --url with an <id>, or --file.')
  const more = {
    ...(oauth && { auth: 'oauth' }),
    ...(exclusive && { exclusive: true }),
    ...(values.replace && { replace: true }),
    ...toAllow(values),
    ...(authHosts && { authHosts }),
    ...(clientId && { clientId }),
    ...(issuer && { issuer }),
    ...(clientSecret && { clientSecret: `\${secret:${clientSecret}}` }),
  }
  const { servers, skipped } =
    file === undefined
      ? { servers: [{ id: only(args), url, headers: toHeaders(header) }], skipped: [] }
      : await fromFile(file, stdin)
  const { added, refused } = await addEach(
    servers.map((server) => ({ ...server, ...more })),
    { request, isAlone: file === undefined },
  )
  const lines = [
    ...added.flatMap(({ id, notes }) => [
      `${id} is added and off.`,
      ...notes,
      `Next: isola mcp ${oauth ? 'login' : 'show'} ${id}`,
    ]),
    ...refused.map(({ id, why }) => `${id} is refused: ${why}`),
    ...skipped.map(({ id, why }) => `${id}: ${why}`),
  ]
  print({ added, refused, skipped }, lines.join('\n'))
  return added.length === 0 || refused.length > 0 ? 1 : 0
}

/** Of several each is tried, whatever becomes of the others; what is wrong with one alone is thrown. */
async function addEach(servers, { request, isAlone }) {
  const added = []
  const refused = []
  for (const server of servers) {
    try {
      added.push({ id: server.id, ...(await post(request, path, server)) })
    } catch (error) {
      if (isAlone) throw error
      refused.push({ id: server.id, why: error.message })
    }
  }
  return { added, refused }
}

function listed({ servers }) {
  if (servers.length === 0) return 'No MCP servers. Add one: isola mcp add <id> --url <url>'
  const rows = servers.map(({ id, state, url, auth, approvedHash }) => [
    id,
    state,
    url,
    auth,
    approvedHash === undefined ? 'nothing is approved' : '',
  ])
  return table([['id', 'state', 'url', 'auth', ''], ...rows])
}

const marks = { new: '+', changed: '!', same: ' ', gone: '-' }

function oneDifference({ kind, key, tool, state, lines }) {
  const name = tool !== undefined && tool !== key ? ` (here: ${tool})` : ''
  return [
    `${marks[state]} ${kind} ${shown(key).replace(/\s+/g, ' ')}${name}: ${state === 'same' ? 'approved' : state}`,
    ...lines.map((line) => `    ${shown(line)}`),
  ].join('\n')
}

function mayAsk({ elicitation = false, sampling } = {}) {
  const whom = [
    ...(elicitation ? ['the person of a run'] : []),
    ...(sampling ? [`a model, ${sampling.maxTokens} tokens a call`] : []),
  ]
  return whom.length > 0 ? [`In a call it may ask ${whom.join(' and ')}.`] : []
}

/** What opens it: the names of its headers, and the secrets that stand in them. */
function secretLines({ headers = {}, clientSecret }, missing) {
  const secretsIn = (value) =>
    [...value.matchAll(/\$\{secret:([A-Z0-9_]+)\}/g)].map(([, name]) =>
      missing.includes(name) ? `${name} (not set; set it: isola secret set ${name})` : name,
    )
  const line = (what, value) => [what, secretsIn(value).join(', ')].filter(Boolean).join(': ')
  return [
    ...Object.entries(headers).map(([name, value]) => line(`Header ${name}`, value)),
    ...(clientSecret ? [line('Client secret', clientSecret)] : []),
  ]
}

export function viewOf(view) {
  const { id, state, config, listing, differences, login, problem } = view
  const { confirmed = [], missingSecrets = [], asking = [], harmless = [] } = view
  const open = differences.filter((one) => one.state !== 'same')
  return [
    `${id} is ${state}: ${config.url}`,
    ...secretLines(config, missingSecrets),
    ...mayAsk(config.allow),
    ...(confirmed.length > 0
      ? [`Believed in what it says of (--confirm): ${short(confirmed.join(', '), 500)}`]
      : []),
    ...(asking.length > 0
      ? [
          `Somebody is asked before each call of: ${short(asking.join(', '), 500)}`,
          "  A tool that does not say so may destroy. --harmless <tool> (or '*' for all that say nothing) when you approve it calls it without asking.",
        ]
      : []),
    ...(harmless.length > 0
      ? [`Called without asking, as you said (--harmless): ${short(harmless.join(', '), 500)}`]
      : []),
    ...(login === 'signed_out' ? [`Nobody is signed in: isola mcp login ${id}`] : []),
    ...(problem && missingSecrets.length === 0
      ? [`It does not answer: ${short(problem, 300)}`]
      : []),
    ...(listing
      ? [
          `It calls itself ${short(listing.server.name, 80)} ${short(listing.server.version, 40)}.`,
          `Hash of what it has: ${listing.hash}`,
        ]
      : ['Nobody has looked at it yet.']),
    ...(listing?.notes ?? []).map((note) => `Note: ${short(note, 300)}`),
    ...differences.map(oneDifference),
    ...(listing?.refused ?? []).map((one) => `x ${one.kind} ${one.key}: ${one.why}`),
    ...(open.length > 0
      ? [
          `${open.length} not as approved; models see what is approved only. Next: isola mcp approve ${id}`,
          `Without a terminal: isola mcp approve ${id} --yes --hash ${listing?.hash?.slice(0, 16)}`,
        ]
      : []),
  ].join('\n')
}

async function show({ args, values, request, print }) {
  const id = only(args)
  const view = values.last ? await request(of(id)) : await post(request, of(id, 'look'))
  print(view, viewOf(view))
}

/** What was shown is what is approved: with nobody at a terminal its hash has to be named. */
async function approve({ args: [id, ...items], values, request, print, stdin, stderr }) {
  if (id === undefined) throw new UsageError('<id>: give one.')
  const { hash, yes, confirm = [], harmless = [] } = values
  if (hash !== undefined && !/^[0-9a-f]{12,64}$/.test(hash))
    throw new UsageError('--hash: give the first 12 or more of its hex digits.')
  if (yes && hash === undefined)
    throw new UsageError(`--yes needs --hash, as isola mcp show ${id} printed it.`)
  if (!yes && !stdin.isTTY)
    throw new UsageError('Without a terminal to ask on, --yes and --hash are needed.')
  const view = await request(of(id))
  const seen = view.listing?.hash
  if (seen === undefined) throw new Error(`Nobody has looked at it yet: isola mcp show ${id}`)
  if (hash !== undefined && !seen.startsWith(hash))
    throw new Error(`It is not ${hash} any more. Look again: isola mcp show ${id}`)
  checkItems(items, view.listing.items)
  if (!yes) {
    stderr.write(`${shown(viewOf(view))}\n`)
    if (!(await agreed(wanted(items), { stdin, stderr }))) throw new Error('Nothing was approved.')
  }
  const done = await post(request, of(id, 'approve'), {
    hash: seen,
    confirm,
    ...(harmless.length > 0 && { harmless }),
    ...(items.length > 0 && { items }),
  })
  print(done, ['Approved.', ...done.notes].join('\n'))
}

/** As the server would say it, before anybody is asked. */
function checkItems(wanted, items) {
  for (const name of wanted) {
    const kinds = items.filter(({ key }) => key === name).map(({ kind }) => `${kind}:${name}`)
    if (kinds.length > 1)
      throw new Error(`"${short(name)}" is more than one thing; say which: ${kinds.join(' or ')}.`)
    if (kinds.length === 0 && !items.some(({ kind, key }) => name === `${kind}:${key}`))
      throw new Error(`The server has no "${short(name)}".`)
  }
}

const wanted = (items) =>
  items.length === 0 ? 'Approve all of this?' : `Approve of it: ${short(items.join(', '), 500)}?`

const simple = (verb, about) => ({
  usage: `isola mcp ${verb} <id>`,
  about,
  options: {},
  async run({ args, request, print }) {
    const id = only(args)
    const done =
      verb === 'remove'
        ? await request(of(id), { method: 'DELETE' })
        : await post(request, of(id, verb))
    print(done, [`${id}: ${verb}d.`, ...done.notes].join('\n'))
  },
})

/** @returns 1 if one of them is not well. */
async function doctor({ request, print }) {
  const { servers } = await request(path)
  const problems = []
  for (const { id, state } of servers.filter((one) => one.state !== 'disabled')) {
    const view = await post(request, of(id, 'look')).catch((error) => ({ problem: error.message }))
    const open = (view.differences ?? []).filter((one) => one.state !== 'same').length
    if (view.problem) problems.push({ id, problem: view.problem })
    else if (view.login === 'signed_out') problems.push({ id, problem: 'nobody is signed in' })
    else if (open > 0) problems.push({ id, problem: `${open} not as approved (${state})` })
  }
  const lines = problems.map(({ id, problem }) => `${id}: ${short(problem, 300)}`)
  print({ problems }, lines.length === 0 ? 'Every MCP server is well.' : lines.join('\n'))
  return problems.length > 0 ? 1 : 0
}

export default {
  noun: 'mcp',
  verbs: {
    add: {
      usage:
        "isola mcp add <id> --url <url> [--header 'Name: value']… [--oauth] [--auth-host <host>]… [--exclusive]\n                     [--client-id <id>] [--client-secret <name>] [--issuer <url>]\n                     [--elicitation] [--sampling-tokens <n>] [--replace]\n       isola mcp add --file <mcp.json|server.json|-> [--replace]",
      about:
        'Adds a remote server; nothing of it is on. In a header ${secret:NAME} stands for a secret.\n' +
        '--client-id <id> and --client-secret <NAME of a secret>: of a client that you registered by hand;\n' +
        '--issuer <url>: its authorization server (without it the first one that is used is the only one).\n' +
        '--elicitation: in the middle of a call it may ask the person of the run, under its name.\n' +
        '--sampling-tokens <n>: it may ask a model, within so many tokens each time that a call runs, and the lease of the run.\n' +
        '--replace: also where one of this name is there; nothing is approved of it any more.\n' +
        '--file takes a pasted mcpServers block or a server.json of a registry; - reads it from the standard input.',
      options: {
        url: { type: 'string' },
        header: { type: 'string', multiple: true },
        oauth: { type: 'boolean' },
        'auth-host': { type: 'string', multiple: true },
        'client-id': { type: 'string' },
        'client-secret': { type: 'string' },
        issuer: { type: 'string' },
        exclusive: { type: 'boolean' },
        elicitation: { type: 'boolean' },
        'sampling-tokens': { type: 'string' },
        replace: { type: 'boolean' },
        file: { type: 'string' },
      },
      run: add,
    },
    list: {
      usage: 'isola mcp list',
      about: 'Which there are, and which are on.',
      options: {},
      async run({ request, print }) {
        const all = await request(path)
        print(all, listed(all))
      },
    },
    show: {
      usage: 'isola mcp show <id> [--last]',
      about:
        'Asks it what it offers, and compares that with what was approved. --last: as it was seen last.',
      options: { last: { type: 'boolean' } },
      run: show,
    },
    login: {
      usage: 'isola mcp login <id>',
      about:
        'Names the page to sign in at. The browser comes back to this deployment, which keeps what it gets sealed.',
      options: {},
      async run({ args, request, print }) {
        const id = only(args)
        const done = await post(request, of(id, 'login'))
        print(
          done,
          done.state === 'open'
            ? `Open this page and sign in:\n\n${shown(done.url)}\n\nThen: isola mcp show ${id}`
            : `${id}: nobody has to sign in. Next: isola mcp show ${id}`,
        )
      },
    },
    approve: {
      usage:
        'isola mcp approve <id> [<item>…] [--yes --hash <hash>] [--confirm <tool>]… [--harmless <tool>]…',
      about:
        'Shows what was seen last and asks; with --yes it asks nobody, and --hash (12 digits of it or more) says what was seen.\n' +
        'Approves what was seen last, or of it only these; everything that was approved before and is not among them is not any more.\n' +
        "--confirm: this tool's own word that it only reads, or may be repeated, is believed.\n" +
        "--harmless: it does not say whether it destroys, and does not: nobody is asked before a call. '*' is all that say nothing.",
      options: {
        yes: { type: 'boolean' },
        hash: { type: 'string' },
        confirm: { type: 'string', multiple: true },
        harmless: { type: 'string', multiple: true },
      },
      run: approve,
    },
    enable: simple('enable', 'What is approved of it is on from the next run.'),
    disable: simple('disable', 'Off from the next run, and calls under way end.'),
    remove: simple('remove', 'Takes it away with all that is kept of it.'),
    doctor: {
      usage: 'isola mcp doctor',
      about:
        'Asks every server that is not off. Exit code 1 if one does not answer, or is not as approved.',
      options: {},
      run: doctor,
    },
  },
}
