import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { commands } from '../../../cli/commands.ts'
import { optionsOf } from '../../../cli/help.ts'
import { replyTo, type Size } from '../../fakes/example-replies.ts'
import { isola } from '../../fakes/terminal.ts'
import { allVerbs, createVerbWords, localVerbs, type NamedVerb } from '../../fakes/verb-words.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const { folder, lineOf, remove } = createVerbWords()
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 8, 21, 12) }))
afterAll(() => {
  vi.useRealTimers()
  remove()
})

const fileOf = (kind: string, noun: string) => join(import.meta.dirname, 'snapshots', kind, noun)
const nouns = commands.map(({ noun }) => noun)

describe('the help', () => {
  it('of the command is as it was', async () => {
    const { stdout } = await isola(['--help'])
    await expect(stdout).toMatchFileSnapshot(fileOf('help', 'isola.txt'))
  })

  it.each(nouns)('of %s is as it was', async (noun) => {
    const names = new Set([noun, ...allVerbs.map(({ name }) => name)])
    const own = [...names].map((name) => name.split(' ')).filter(([first]) => first === noun)
    const told = []
    for (const words of own)
      told.push(`$ isola ${words.join(' ')} --help\n${(await isola([...words, '--help'])).stdout}`)
    await expect(told.join('\n')).toMatchFileSnapshot(fileOf('help', `${noun}.txt`))
  })
})

/** What these say has tests of their own: a conversation, a deployment, files of this machine. */
const talks = new Set(['chat', 'deploy', 'doctor', 'logs', 'skill export', 'mcp add'])
const asking = allVerbs.filter(({ name }) => !localVerbs.has(name) && !talks.has(name))

/** Where an example of a reply would lead nowhere. */
const patches: Readonly<Record<string, object>> = {
  'GET /api/operator/approvals/apr_1': { state: 'open', id: 'apr_1' },
  'GET /api/operator/mcp/docs': { listing: { hash: 'abcdef012345', items: [], notes: [] } },
}

/** A body with its fields in the order of their names: which comes first means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, own]) => [name, sorted(own)]))
}

const bodyText = (body: unknown) =>
  body === undefined ? '' : JSON.stringify(sorted(JSON.parse(String(body))))

interface Asked {
  readonly lines: string[]
  readonly replies: unknown[]
}

/** A server that answers each request with the example of its route, and keeps what was asked. */
function createServer(size: Size) {
  const asked: Asked = { lines: [], replies: [] }
  const seen = new Set<string>()
  const fetch = async (
    given: string | URL | Request,
    { method = 'GET', body }: RequestInit = {},
  ) => {
    const { pathname, searchParams, host } = new URL(String(given))
    searchParams.sort()
    const query = searchParams.size > 0 ? `?${searchParams}` : ''
    const line = `${method} ${pathname}`
    const where = host === 'isola.example' ? '' : host
    asked.lines.push(`> ${where}${line}${query} ${bodyText(body)}`.trim())
    const reply = replyTo(method, pathname, { size, isLater: seen.has(line) })
    seen.add(line)
    if (pathname.endsWith('/events')) return new Response('')
    if (reply === undefined)
      return Response.json({ error: { message: 'no such route' } }, { status: 404 })
    const patched = Object.assign(Object(reply), patches[line])
    asked.replies.push(patched)
    return Response.json(patched)
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

const maxLines = 60
/** A long text by its beginning and a hash of the rest. */
function brief(text: string): string {
  const lines = text.trimEnd().split('\n')
  if (lines.length <= maxLines) return lines.join('\n')
  const rest = lines.slice(maxLines / 2).join('\n')
  const hash = createHash('sha256').update(rest).digest('hex').slice(0, 16)
  return [
    ...lines.slice(0, maxLines / 2),
    `(and ${lines.length - maxLines / 2} lines: ${hash})`,
  ].join('\n')
}

const clean = (text: string) => text.replaceAll(folder, '<folder>').trimEnd()

/** One command line: its requests, its output, and its exit code. */
async function transcript(argv: readonly string[], size: Size) {
  const { asked, fetch } = createServer(size)
  const { code, stdout, stderr } = await isola(argv, {
    env,
    fetch,
    input: 'a value\n',
    sleep: async () => {},
    signal: AbortSignal.abort(),
  })
  const isReply = (text: string) => {
    try {
      const said = JSON.stringify(JSON.parse(text))
      return asked.replies.some((reply) => JSON.stringify(reply) === said)
    } catch {
      return false
    }
  }
  const told = isReply(stdout) ? '(a reply as JSON)' : stdout
  return {
    requests: asked.lines,
    text: clean(
      [
        `$ isola ${argv.join(' ')}`,
        ...asked.lines,
        ...(told === '' ? [] : [brief(told)]),
        ...(stderr === '' ? [] : [`! ${stderr.trimEnd()}`]),
        `exit ${code}`,
      ].join('\n'),
    ),
    code,
    stderr,
  }
}

const ofNoun = (noun: string) => asking.filter(({ name }) => name.split(' ')[0] === noun)
const asked = nouns.filter((noun) => ofNoun(noun).length > 0)

describe('the answers', () => {
  it.each(asked)('of %s are as they were', async (noun) => {
    const told = []
    for (const named of ofNoun(noun)) {
      const argv = lineOf(named)
      told.push((await transcript(argv, 'full')).text, (await transcript(argv, 'bare')).text)
      told.push((await transcript([...argv, '--json'], 'full')).text)
    }
    await expect(`${told.join('\n\n')}\n`).toMatchFileSnapshot(fileOf('answers', `${noun}.txt`))
  })
})

/** A value of each option that takes one of a kind. */
const values: Readonly<Record<string, string>> = {
  n: '7',
  number: '7',
  count: '7',
  minutes: '7',
  seconds: '7',
  ms: '7',
  usd: '0.5',
  dollars: '0.5',
  when: '2h',
  day: 'yesterday',
  json: '{"a":1}',
  moment: '2026-10-01T09:00:00Z',
  'field=value': 'amount=5',
  'from-to': '8-22',
}
const valuesByName: Readonly<Record<string, string>> = {
  scope: 'deployment',
  by: 'agent',
  for: 'session',
  elsewhere: 'ask',
  deliver: 'principal',
  without: 'check',
  'expires-in': '30d',
  'expires-at': '2027-01-31',
  grace: '1h',
  'daily-tokens': '7',
  'daily-cost-usd': '0.5',
  hash: 'abcdef012345',
  'not-after': '7',
}

/** Options that mean something beside another one only. */
const together: Readonly<Record<string, readonly string[]>> = {
  'schedule add hours': ['--every', '5'],
  'schedule edit hours': ['--every', '5'],
  'schedule add check-input': ['--check', 'a__b'],
  'schedule add check-has': ['--check', 'a__b'],
  'approval allow free': ['--for', 'session'],
  'approval allow days': ['--for', 'session'],
}
/** Options that stand in the place of one that each line of the verb has. */
const insteadOfCron = new Set(['cron', 'every', 'hours', 'at'])

/** Options of the frame, and those that write a file where the tests run. */
const leftOut = new Set(['json', 'yes', 'out'])

/** Each option of a verb by itself, and what is sent then. */
async function optionLines(named: NamedVerb) {
  const told = []
  for (const [name, option] of Object.entries(optionsOf(named.verb))) {
    if (leftOut.has(name)) continue
    const value = valuesByName[name] ?? values[option.value ?? ''] ?? 'value'
    const given = option.type === 'boolean' ? [`--${name}`] : [`--${name}`, value]
    const twice = option.multiple ? [`--${name}`, `${value}`] : []
    const beside = together[`${named.name} ${name}`] ?? []
    const line = lineOf(named)
    const at = line.indexOf('--cron')
    const own = at >= 0 && insteadOfCron.has(name) ? line.slice(0, at) : line
    const { requests, code, stderr } = await transcript(
      [...own, ...given, ...twice, ...beside],
      'full',
    )
    const why = code === 2 ? [`! ${stderr.split('\n')[0]}`] : []
    told.push([`${named.name} ${given.join(' ')}`, ...requests, ...why, `exit ${code}`].join('\n'))
  }
  return told
}

describe('the options', () => {
  it.each(asked)('of %s are sent as they were', async (noun) => {
    const told = []
    for (const named of ofNoun(noun)) told.push(...(await optionLines(named)))
    await expect(clean(`${told.join('\n\n')}\n`)).toMatchFileSnapshot(
      fileOf('options', `${noun}.txt`),
    )
  })
})
