import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { commands } from '../../../scripts/isola/commands.ts'
import type { Verb } from '../../../scripts/isola/command.ts'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const folder = mkdtempSync(join(tmpdir(), 'isola-verbs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fileOf = (name: string, text: string) => {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}
const agentFolder = join(folder, 'agent')
fileOf('agent/agent.yaml', 'id: notes\nname: Notes\ndescription: Takes notes.\nprompt: prompt.md\n')
fileOf('agent/prompt.md', 'Take notes.')
const skillFolder = join(folder, 'kites')
fileOf('kites/SKILL.md', '---\nname: kites\ndescription: How to fly kites.\n---\nHold the line.\n')
const pluginFolder = join(folder, 'greeter')
fileOf(
  'greeter/plugin.yaml',
  'id: greeter\nname: Greeter\nversion: 0.1.0\nentrypoint: main.ts\ndescription: Greets.\ncontributes: {}\n',
)
fileOf('greeter/main.ts', 'export default () => ({})\n')
const document = fileOf('page.md', '# A page\n')
const policy = fileOf('policy.yaml', 'destructive: ask\n')
const notes = fileOf('notes.jsonl', '{"text":"a note"}\n')

/** Those that ask no server: what they look at is on this machine. */
const local = new Set([
  'plugin new',
  'plugin types',
  'plugin build',
  'plugin test',
  'plugin sign',
  'trust new',
  'skill validate',
  'skill test',
  'deploy',
])
/** Whose findings are the answer, however bad they are. */
const reports = new Set(['doctor'])

/** Words of a verb whose usage line does not say enough. */
const words: Readonly<Record<string, readonly string[]>> = {
  'agent add': [agentFolder],
  'agent once': [agentFolder, 'go'],
  'agent promote': ['ses_1', 'run_1', '--id', 'a', '--name', 'A', '--description', 'An agent.'],
  'run raise': ['run_1', '--cost', '1'],
  'usage confirm': ['att_1', '--released'],
  'approval show': ['apr_1'],
  'approval allow': ['apr_1'],
  'approval deny': ['apr_1'],
  'approval approve': ['ses_1', 'call_1', '--hash', 'h'],
  'key change': ['ada', '--role', 'user'],
  'policy set': [policy],
  'policy test': ['--tool', 'kv__set'],
  'expose set': [policy],
  'http allow': ['example.com'],
  'http deny': ['example.com'],
  'knowledge add': [document],
  'knowledge search': ['refunds'],
  'knowledge remove': ['--all'],
  'memory search': ['refunds'],
  'memory add': ['I like tea.'],
  'memory forget': ['mem_1'],
  'memory import': [notes],
  'mcp add': ['docs', '--url', 'https://docs.example/mcp'],
  'plugin add': [pluginFolder],
  'skill add': [skillFolder],
  'schedule add': ['Say hello.', '--cron', '0 9 * * *'],
  'schedule edit': ['sch_1', '--cron', '0 8 * * *'],
  'agent rollback': ['notes', '1'],
  'plugin rollback': ['greeter'],
  'mcp logout': ['docs', '--mine'],
  'mcp approve': ['docs', '--hash', 'abcdef012345'],
  'schedule zone': ['Europe/Berlin'],
  'schedule language': ['de'],
  'subscription add': ['isola.run_finished', 'Say so.'],
  'secret set': ['A'],
  'trust add': ['ci', `${'A'.repeat(43)}=`],
  'erasure start': ['ada'],
  chat: [],
}

interface Named {
  readonly name: string
  readonly verb: Verb
}
const verbs: readonly Named[] = commands.flatMap(({ noun, usage, run, verbs: own = {}, ...rest }) =>
  usage !== undefined && run
    ? [{ name: noun, verb: { ...rest, usage, run } as Verb }]
    : Object.entries(own).map(([verb, declared]) => ({ name: `${noun} ${verb}`, verb: declared })),
)

/** What its usage line asks for: the arguments that may not be left out. */
const required = ({ usage }: Verb) =>
  (usage.split('\n')[0] ?? '')
    .replace(/\[[^[\]]*\]/g, '')
    .replace(/--?[\w-]+[ =]<[^>]*>/g, '')
    .match(/<[^>]*>/g)
    ?.map((one) => `${one.slice(1, -1).replace(/\W.*/, '')}_1`) ?? []

const lineOf = ({ name, verb }: Named) => [
  ...name.split(' '),
  ...(words[name] ?? required(verb)),
  ...(verb.asks || (verb.options && 'yes' in verb.options) ? ['--yes'] : []),
]

const remote = verbs.filter(({ name }) => !local.has(name) && !reports.has(name))
const answered = async (line: readonly string[], fetch: () => Promise<Response>) =>
  isola(line, { env, fetch, input: 'a value\n', sleep: async () => {} })

describe('N8: a verb whose request fails', () => {
  it('is any verb of any noun: each is walked, or named with its reason', () => {
    expect(verbs.length).toBeGreaterThan(110)
    expect(verbs.length - remote.length).toBe(local.size + reports.size)
  })

  describe.each([
    ['is refused', 403, 'forbidden', 'This key may not do that.'],
    ['does not find it', 404, 'request_not_found', 'There is no such thing.'],
    ['finds the database away', 503, 'request_unavailable', 'The database is away.'],
    ['breaks', 500, 'internal_error', 'Something broke.'],
    ['has spent its day', 429, 'insufficient_quota', 'The day has nothing left.'],
  ])('and %s', (_, status, code, message) => {
    it.each(remote.map((one) => [one.name, one] as const))(
      '%s: says why on the error output, prints nothing, and exits with 1',
      async (_name, one) => {
        const fetch = async () =>
          Response.json({ error: { code, message, type: 'x', param: null } }, { status })
        const said = await answered(lineOf(one), fetch)
        expect(said).toMatchObject({ code: 1, stdout: '' })
        expect(said.stderr).toContain(message)
      },
    )
  })

  it.each(remote.map((one) => [one.name, one] as const))(
    '%s: says that no server answers, and prints nothing with --json either',
    async (_name, one) => {
      const fetch = async () => {
        throw new TypeError('fetch failed')
      }
      const said = await answered([...lineOf(one), '--json'], fetch)
      expect(said).toMatchObject({ code: 1, stdout: '' })
      expect(said.stderr).not.toBe('')
    },
  )
})
