// Remote MCP servers, for a terminal.
import type { Reply } from '../../src/client/client.ts'
import { lines, listed, short, shown } from '../text.ts'

export type Server = Reply<'GET /api/operator/mcp/:server'>
type Difference = Server['differences'][number]

/** The list of all servers. */
export const listing = ({ servers }: Reply<'GET /api/operator/mcp'>): string =>
  listed(servers, 'No MCP servers. Add one: isola mcp add <id> --url <url>', {
    id: 'id',
    state: 'state',
    url: 'url',
    auth: 'auth',
    '': ({ approvedHash }) => (approvedHash === undefined ? 'nothing is approved' : ''),
  })

const marks = { new: '+', changed: '!', same: ' ', gone: '-' }

function oneDifference({ kind, key, tool, state, ...difference }: Difference) {
  const name = tool !== undefined && tool !== key ? ` (here: ${tool})` : ''
  return [
    `${marks[state]} ${kind} ${shown(key).replace(/\s+/g, ' ')}${name}: ${state === 'same' ? 'approved' : state}`,
    ...difference.lines.map((line) => `    ${shown(line)}`),
  ].join('\n')
}

/** The names of a server's headers, and the secrets in them. */
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
    : `The deployment is not signed in: isola mcp login ${id}`

/** Fields that a server of an earlier version leaves out. */
type Later = 'confirmed' | 'missingSecrets' | 'asking' | 'harmless' | 'closed'

/** One server: its offers, and how they differ from the approved ones. */
export function viewOf(view: Omit<Server, Later> & Partial<Pick<Server, Later>>): string {
  const { id, state, config, listing, differences, login, problem } = view
  const { confirmed = [], missingSecrets = [], asking = [], harmless = [], closed = [] } = view
  const { elicitation, sampling } = config.allow ?? {}
  const whom = [
    ...(elicitation ? ['the person of a run'] : []),
    ...(sampling ? [`a model, ${sampling.maxTokens} tokens a call`] : []),
  ]
  const open = differences.filter((one) => one.state !== 'same')
  const some = (names: readonly string[], before: string) =>
    names.length > 0 && `${before}: ${short(names.join(', '), 500)}`
  return lines(
    `${id} is ${state}: ${config.url}`,
    secretLines(config, missingSecrets),
    whom.length > 0 && `In a call it may ask ${whom.join(' and ')}.`,
    some(confirmed, 'Believed in what it says of (--confirm)'),
    some(asking, 'A person is asked before each call of'),
    asking.length > 0 &&
      "  A tool that does not say so may destroy. --harmless <tool> (or '*' for all that say nothing) " +
        'when you approve it calls it without asking.',
    some(harmless, 'Called without asking, as you said (--harmless)'),
    some(closed, 'Reaches no stranger, as you said (--closed)'),
    login === 'signed_out' && signedOut(view),
    problem && missingSecrets.length === 0 && `It does not answer: ${short(problem, 300)}`,
    listing
      ? [
          `It calls itself ${short(listing.server.name, 80)} ${short(listing.server.version, 40)}.`,
          `Hash of what it has: ${listing.hash}`,
        ]
      : 'It was not looked at yet.',
    (listing?.notes ?? []).map((note) => `Note: ${short(note, 300)}`),
    differences.map(oneDifference),
    (listing?.refused ?? []).map((one) => `x ${one.kind} ${one.key}: ${one.why}`),
    open.length > 0 && [
      `${open.length} not as approved; models see what is approved only. Next: isola mcp approve ${id}`,
      `Without a terminal: isola mcp approve ${id} --yes --hash ${listing?.hash?.slice(0, 16)}`,
    ],
  )
}
