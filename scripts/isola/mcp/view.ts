// What a terminal shows of remote MCP servers.
import type { Reply } from '../../../src/client/client.ts'
import { short, shown, table } from '../text.ts'

export type Server = Reply<'GET /api/operator/mcp/:server'>
type Difference = Server['differences'][number]

/** The list of all servers. */
export function listed({ servers }: Reply<'GET /api/operator/mcp'>): string {
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

function oneDifference({ kind, key, tool, state, lines }: Difference) {
  const name = tool !== undefined && tool !== key ? ` (here: ${tool})` : ''
  return [
    `${marks[state]} ${kind} ${shown(key).replace(/\s+/g, ' ')}${name}: ${state === 'same' ? 'approved' : state}`,
    ...lines.map((line) => `    ${shown(line)}`),
  ].join('\n')
}

function mayAsk({
  elicitation = false,
  sampling,
}: Partial<NonNullable<Server['config']['allow']>> = {}) {
  const whom = [
    ...(elicitation ? ['the person of a run'] : []),
    ...(sampling ? [`a model, ${sampling.maxTokens} tokens a call`] : []),
  ]
  return whom.length > 0 ? [`In a call it may ask ${whom.join(' and ')}.`] : []
}

/** What opens it: the names of its headers, and the secrets that stand in them. */
function secretLines(
  { headers = {}, clientSecret }: Partial<Server['config']>,
  missing: readonly string[],
) {
  const secretsIn = (value: string) =>
    [...value.matchAll(/\$\{secret:([A-Z0-9_]+)\}/g)].map(([, name = '']) =>
      missing.includes(name) ? `${name} (not set; set it: isola secret set ${name})` : name,
    )
  const line = (what: string, value: string) =>
    [what, secretsIn(value).join(', ')].filter(Boolean).join(': ')
  return [
    ...Object.entries(headers).map(([name, value]) => line(`Header ${name}`, value)),
    ...(clientSecret ? [line('Client secret', clientSecret)] : []),
  ]
}

const signedOut = ({ id, config }: Pick<Server, 'id' | 'config'>) =>
  config.auth === 'principal'
    ? `Each signs in for themselves, and you are not signed in: isola mcp login ${id} --mine`
    : `Nobody is signed in: isola mcp login ${id}`

/** What a server of an earlier version leaves out. */
type Later = 'confirmed' | 'missingSecrets' | 'asking' | 'harmless' | 'closed'

/** One server: what it offers now, and what of that is not as it was approved. */
export function viewOf(view: Omit<Server, Later> & Partial<Pick<Server, Later>>): string {
  const { id, state, config, listing, differences, login, problem } = view
  const { confirmed = [], missingSecrets = [], asking = [], harmless = [], closed = [] } = view
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
    ...(closed.length > 0
      ? [`Reaches no stranger, as you said (--closed): ${short(closed.join(', '), 500)}`]
      : []),
    ...(login === 'signed_out' ? [signedOut(view)] : []),
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
