// isola mcp add: a server by its address, or several from a file.
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { ApiError, type Request } from '../../src/client/client.ts'
import { verb, type Input } from '../command.ts'
import { flag, text as words, texts } from '../options.ts'
import { toServers } from '../mcp-import.ts'
import { messageOf, short, shown } from '../text.ts'
import { UsageError } from '../usage.ts'

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

/** A value that is a reference, after the word of a scheme (`Bearer`) perhaps. Any other may be a secret written out. */
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
    "<id> --url <url> [--header 'Name: value']… [--oauth | --each-signs-in] [--auth-host <host>]…\n                     [--exclusive] [--client-id <id>] [--client-secret <name>] [--issuer <url>]\n                     [--elicitation] [--sampling-tokens <n>] [--replace] [--dry-run]\n       isola mcp add --file <mcp.json|server.json|-> [--replace] [--dry-run]",
  about:
    'Adds a remote server; nothing of it is on. In a header ${secret:NAME} stands for a secret.\n' +
    '--oauth: the deployment signs in there, for all principals. --each-signs-in: each principal for itself.\n' +
    '--client-id <id> and --client-secret <NAME of a secret>: of a client that you registered by hand;\n' +
    '--issuer <url>: its authorization server (without it the first one that is used is the only one).\n' +
    '--elicitation: in the middle of a call it may ask the person of the run, under its name.\n' +
    '--sampling-tokens <n>: it may ask a model, within so many tokens each time that a call runs, and the lease of the run.\n' +
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
