// isola mcp add: a server by its address, or several from a file.

import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { ApiError, type Request } from '../../src/client/client.ts'
import { verb, type Input } from '../command.ts'
import { flag, text as words, texts, UsageError } from '../options.ts'
import { messageOf, short, shown } from '../text.ts'

// Descriptions of MCP servers for other programs, as Isola takes them: a pasted `mcpServers` block, or a registry's
// server.json.

const idForm = /^[a-z][a-z0-9-]{0,23}$/

/** An id of ours, made of a name in a file. */
export function toServerId(name: string): string {
  const last = name.split('/').at(-1) ?? ''
  const id = last
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 24)
    .replace(/(?<!-)-+$/, '')
  return idForm.test(id) ? id : 'server'
}

const toSecretName = (text: string) =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[^A-Z]+/, '')
    .slice(0, 64) || 'TOKEN'

/** `${VAR}`, `${env:VAR}`, `${input:key}`, `${VAR:-default}` and `{var}` all mean a value that is not written down. */
const toReference = (value: unknown) =>
  String(value).replace(
    /\$\{(?!secret:)(?:env:|input:)?([A-Za-z_][A-Za-z0-9_.-]*)(?::?-[^{}]*)?\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g,
    (_all, inDollars?: string, inBraces?: string) =>
      `\${secret:${toSecretName(inDollars ?? inBraces ?? '')}}`,
  )

/** A server as the deployment takes it. */
interface ImportedServer {
  readonly id: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly auth?: 'oauth'
}
interface SkippedServer {
  readonly id: string
  readonly why: string
}
type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * @returns `servers`, as `POST /api/operator/mcp` takes them, and `skipped`, each with why.
 * @throws if it is neither of the forms, or has no server.
 */
export function toServers(json: unknown): Sorted {
  const block = isObject(json) ? (json['mcpServers'] ?? json['servers']) : undefined
  if (isObject(block)) {
    const all = Object.entries(block).map(([name, entry]) => fromEntry(name, entry))
    if (all.length === 0) throw new Error('There is no server in it.')
    return sorted(all)
  }
  if (isObject(json) && typeof json['name'] === 'string' && (json['remotes'] || json['packages']))
    return sorted([fromRegistry(json['name'], json)])
  throw new Error('This is neither an mcpServers block nor a server.json of a registry.')
}

interface Sorted {
  readonly servers: readonly ImportedServer[]
  readonly skipped: readonly SkippedServer[]
}
const sorted = (all: readonly (ImportedServer | SkippedServer)[]): Sorted => ({
  servers: all.filter((one) => 'url' in one),
  skipped: all.filter((one) => 'why' in one),
})

const skipped = (id: string, why: string): SkippedServer => ({ id, why })
const notHere = 'runs as a process (stdio), which a Worker has none of: not runnable here'

function fromEntry(name: string, entry: unknown): ImportedServer | SkippedServer {
  const id = toServerId(name)
  if (!isObject(entry)) return skipped(id, 'is not an object')
  const url = entry['url'] ?? entry['serverUrl'] ?? entry['httpUrl']
  if (typeof url !== 'string') return skipped(id, entry['command'] ? notHere : 'has no url')
  const type = String(entry['type'] ?? entry['transport'] ?? 'http').toLowerCase()
  if (type === 'sse') return skipped(id, 'speaks the older SSE transport only: not supported')
  const headers = Object.entries(isObject(entry['headers']) ? entry['headers'] : {})
  const wantsLogin = ['oauth', 'oauth_resource', 'auth'].some((key) => entry[key] !== undefined)
  return {
    id,
    url,
    headers: Object.fromEntries(headers.map(([key, value]) => [key, toReference(value)])),
    ...(wantsLogin && headers.length === 0 && { auth: 'oauth' }),
  }
}

/** The objects of a list; other values are left out. */
const objectsIn = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isObject) : []

function fromRegistry(name: string, json: Fields): ImportedServer | SkippedServer {
  const id = toServerId(name)
  const remotes = objectsIn(json['remotes'])
  const remote = remotes.find((one) => one['type'] === 'streamable-http')
  if (!remote) {
    if (remotes.length > 0) return skipped(id, 'speaks the older SSE transport only: not supported')
    return skipped(id, objectsIn(json['packages']).length > 0 ? notHere : 'has no address')
  }
  const url = String(remote['url'])
  if (/\{[^{}]+\}/.test(url))
    return skipped(id, `its address has a part that you choose (${url}): add it with --url`)
  const headers = objectsIn(remote['headers']).map(({ name: header, value }) => [
    String(header),
    value === undefined
      ? `\${secret:${toSecretName(`${id}_${String(header)}`)}}`
      : toReference(value),
  ])
  return { id, url, headers: Object.fromEntries(headers) }
}

/** The tokens that a server may ask a model for in one call. */
function toTokens(given: string, option: string): number {
  const tokens = Number(given)
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens
  throw new UsageError(`${option}: give a whole number above 0.`)
}

type Added = Request<'POST /api/operator/mcp'>['body']

function toHeaders(lines: readonly string[] = []) {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      if (at < 1) throw new UsageError(`--header: "${short(line, 40)}" is not 'Name: value'.`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

/**
 * A value that is a reference, after the word of a scheme (`Bearer`) perhaps. Any other may be a secret written out.
 */
const reference = /^([A-Za-z]+ )?\$\{secret:[^}]*\}$/

const notShown = '(not shown)'

/** An address without what may be a key: the user that it names, and the values of its query. */
function withoutKeys(address: string): string {
  if (!URL.canParse(address)) return address
  const { origin, pathname, searchParams, username } = new URL(address)
  const names = [...searchParams.keys()].map((name) => `${encodeURIComponent(name)}=${notShown}`)
  const user = username === '' ? '' : `${notShown}@`
  const query = names.length === 0 ? '' : `?${names.join('&')}`
  return origin.replace('//', `//${user}`) + pathname + query
}

/** A server without what may be a secret written out: logs of CI and screens are read by others. */
const withoutValues = (server: Added): Added => ({
  ...server,
  url: withoutKeys(server.url),
  headers: Object.fromEntries(
    Object.entries(server.headers ?? {}).map(([name, value]) => [
      name,
      reference.test(value) ? value : notShown,
    ]),
  ),
})

async function fromFile(file: string, stdin: Input) {
  const json = file === '-' ? await text(stdin) : readFileSync(file, 'utf8')
  try {
    return toServers(JSON.parse(json))
  } catch (error) {
    throw new UsageError(`--file: ${messageOf(error)}`)
  }
}

/** @returns 1 if one of them was refused. */
export const add = verb({
  usage:
    "<id> --url <url> [--header 'Name: value']… [--oauth | --each-signs-in] [--auth-host <host>]…\n          " +
    '           [--exclusive] [--client-id <id>] [--client-secret <name>] [--issuer <url>]\n                 ' +
    '    [--elicitation] [--sampling-tokens <n>] [--replace] [--dry-run]\n       isola mcp add --file ' +
    '<mcp.json|server.json|-> [--replace] [--dry-run]',
  about:
    'Adds a remote server; nothing of it is on. In a header ${secret:NAME} stands for a secret.\n' +
    '--oauth: the deployment signs in there, for all principals. --each-signs-in: each principal for itself.\n' +
    '--client-id <id> and --client-secret <NAME of a secret>: of a client that you registered by hand;\n' +
    '--issuer <url>: its authorization server (without it the first one that is used is the only one).\n' +
    '--elicitation: in the middle of a call it may ask the person of the run, under its name.\n' +
    '--sampling-tokens <n>: it may ask a model, within so many tokens each time that a call runs, and the ' +
    'lease of the run.\n' +
    '--replace: also where one of this name is there; nothing is approved of it any more.\n' +
    '--file takes a pasted mcpServers block or a server.json of a registry; - reads it from the standard input.',
  options: {
    url: words(undefined, undefined, { to: null }),
    header: texts(undefined, undefined, { to: null }),
    oauth: flag(undefined, { to: 'auth', sends: 'oauth' }),
    'each-signs-in': flag(undefined, { to: 'auth', sends: 'principal' }),
    'auth-host': texts(undefined, undefined, { to: 'authHosts' }),
    'client-id': words(),
    'client-secret': words(undefined, undefined, { read: (name) => `\${secret:${name}}` }),
    issuer: words(),
    exclusive: flag(),
    elicitation: flag(undefined, { to: 'allow.elicitation' }),
    'sampling-tokens': words(undefined, undefined, {
      to: 'allow.sampling.maxTokens',
      read: toTokens,
    }),
    replace: flag(),
    file: words(undefined, undefined, { to: null }),
    'dry-run': flag('say what would be added, and add nothing', { to: null }),
  },
  async run({ args: [id], values, ask, print, isJson, stdin, stderr, sent }) {
    const { url, header, file, oauth, 'each-signs-in': each } = values
    if ((file === undefined) === (url === undefined))
      throw new UsageError('Give either --url with an <id>, or --file.')
    if (oauth && each) throw new UsageError('--each-signs-in: give it without --oauth.')
    if (url !== undefined && id === undefined) throw new UsageError('<id>: give one.')
    const { servers, skipped } =
      url === undefined
        ? await fromFile(file ?? '-', stdin)
        : { servers: [{ id: id ?? '', url, headers: toHeaders(header) }], skipped: [] }
    const wanted: readonly Added[] = servers.map((server) => ({ ...server, ...sent() }))
    const left = skipped.map(({ id, why }) => `${id}: ${why}`)
    if (values['dry-run']) {
      const told = wanted.map(withoutValues)
      const lines = told.map((one) => `${one.id} would be added: ${JSON.stringify(one, null, 2)}`)
      print({ added: told, refused: [], skipped }, [...lines, ...left].join('\n'))
      return wanted.length === 0 ? 1 : 0
    }
    const added = []
    const refused = []
    // Each of several is tried, whatever becomes of the others; the error of a single one is thrown.
    for (const server of wanted) {
      try {
        added.push({ id: server.id, ...(await ask('POST /api/operator/mcp', server)) })
      } catch (error) {
        if (file === undefined || !(error instanceof ApiError)) throw error
        refused.push({ id: server.id, why: error.message })
      }
    }
    const lines = [
      ...added.flatMap(({ id, notes }) => [
        `${id} is added and off.`,
        ...notes,
        `Next: isola mcp ${oauth || each ? 'login' : 'show'} ${id}${each ? ' --mine' : ''}`,
      ]),
      ...left,
    ]
    for (const { id, why } of refused) stderr.write(`${shown(`${id} is refused: ${why}`)}\n`)
    if (isJson || lines.length > 0) print({ added, refused, skipped }, lines.join('\n'))
    return added.length === 0 || refused.length > 0 ? 1 : 0
  },
})
