import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands } from '../../cli/commands.ts'
import type { Verb } from '../../cli/command.ts'

/** A verb with the words that name it. */
export interface NamedVerb {
  readonly name: string
  readonly verb: Verb
}

/** Every verb of every noun, and each command that has no verbs. */
export const allVerbs: readonly NamedVerb[] = commands.flatMap(
  ({ noun, usage, run, verbs: own = {}, ...rest }) =>
    usage !== undefined && run
      ? [{ name: noun, verb: { ...rest, usage, run } as Verb }]
      : Object.entries(own).map(([verb, declared]) => ({
          name: `${noun} ${verb}`,
          verb: declared,
        })),
)

/** Verbs that ask no server: what they look at is on this machine. */
export const localVerbs: ReadonlySet<string> = new Set([
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

/** The files that some verbs read, in a folder of their own, and a command line of each verb. */
export function createVerbWords() {
  const folder = mkdtempSync(join(tmpdir(), 'isola-verbs-'))
  const fileOf = (name: string, text: string) => {
    const path = join(folder, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
    return path
  }
  const agentFolder = join(folder, 'agent')
  fileOf(
    'agent/agent.yaml',
    'id: notes\nname: Notes\ndescription: Takes notes.\nprompt: prompt.md\n',
  )
  fileOf('agent/prompt.md', 'Take notes.')
  const skillFolder = join(folder, 'kites')
  fileOf(
    'kites/SKILL.md',
    '---\nname: kites\ndescription: How to fly kites.\n---\nHold the line.\n',
  )
  const pluginFolder = join(folder, 'greeter')
  fileOf(
    'greeter/plugin.yaml',
    'id: greeter\nname: Greeter\nversion: 0.1.0\nentrypoint: main.ts\ndescription: Greets.\ncontributes: {}\n',
  )
  fileOf('greeter/main.ts', 'export default () => ({})\n')
  const document = fileOf('page.md', '# A page\n')
  const policy = fileOf('policy.yaml', 'destructive: ask\n')
  const notes = fileOf('notes.jsonl', '{"text":"a note"}\n')

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

  /** The required arguments of its usage line. */
  const required = ({ usage }: Verb) =>
    (usage.split('\n')[0] ?? '')
      .replace(/\[[^[\]]*\]/g, '')
      .replace(/--?[\w-]+[ =]<[^>]*>/g, '')
      .match(/<[^>]*>/g)
      ?.map((one) => `${one.slice(1, -1).replace(/\W.*/, '')}_1`) ?? []

  return {
    folder,
    /** The least that a verb can be called with, `--yes` included. */
    lineOf: ({ name, verb }: NamedVerb) => [
      ...name.split(' '),
      ...(words[name] ?? required(verb)),
      ...(verb.asks || (verb.options && 'yes' in verb.options) ? ['--yes'] : []),
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
