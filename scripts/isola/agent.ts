// isola agent …: whom a session, or `model` of a request, may name; and agents that need no plugin.
import { defined } from '../../src/contracts/defined.ts'
import type { Reply } from '../../src/client/client.ts'
import { addedText, diffText, headOf, versionLine } from './agent-text.ts'
import { readAgentFolder, type AgentBody } from './agent-folder.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { confirm } from './confirm.ts'
import { tellEnd, waitsCode } from './outcome.ts'
import { short, shown, time } from './text.ts'
import { toNumber } from './to-number.ts'
import { UsageError } from './usage.ts'
import { toldWaiting, waitingOf } from './waiting.ts'
import { wholeTree } from './whole-tree.ts'

type Agent = Reply<'GET /api/agents'>['agents'][number]
type Version = Reply<'GET /api/agents/:agent'>['versions'][number]

async function list({ request, print }: Context) {
  const [{ data }, stored] = await Promise.all([
    request('GET /v1/models'),
    // Of a version before, or with a key that may not: then there are only those of plugins.
    request('GET /api/agents').catch(() => ({ agents: [] as readonly Agent[] })),
  ])
  // Agents are ours; the rest are models of providers.
  const named = data.filter((one) => one.owned_by === 'isola').map(({ id }) => id)
  const rest = stored.agents.filter(({ id }) => !named.includes(id))
  const lines = [...named, ...rest.map(headOf)]
  const value = { agents: named, stored: stored.agents }
  print(value, lines.length === 0 ? 'This key may name no agent.' : lines.join('\n'))
}

async function add({
  args: [path],
  values,
  request,
  print,
}: Context<ValuesOf<typeof dryRun>, [string]>) {
  // What is wrong with it, the server says.
  const definition = readAgentFolder(path) as AgentBody
  const body = { ...definition, ...(values['dry-run'] && { dryRun: true }) }
  const made = await request('POST /api/agents', { body })
  print(made, values['dry-run'] ? `Would be made:\n${addedText(made)}` : addedText(made))
}

async function show({ args: [agent, wanted], request, print }: Context<object, [string, string?]>) {
  const found = await request('GET /api/agents/:agent', { params: { agent } })
  const { versions } = found
  const number = wanted === undefined ? found.version : toNumber('version', wanted)
  const one = versions.find(({ version }) => version === number)
  // They are for who may edit it: to others it has none.
  if (wanted !== undefined && !one)
    throw new Error(`There is no version ${wanted} of ${short(agent)} that you may read.`)
  // Where none is in force yet, the newest is what there is.
  const read = one ?? versions[0]
  const text = [
    headOf(found),
    ...versions.map(versionLine),
    ...(read ? ['', `The text of version ${read.version} (${read.state}):`, textOf(read)] : []),
  ]
  print(found, shown(text.join('\n')))
}

const textOf = ({ definition }: Version) => JSON.stringify(definition, undefined, 2)

async function diff({
  args: [agent, older, newer],
  request,
  print,
}: Context<object, [string, string?, string?]>) {
  const { version, newest } = await request('GET /api/agents/:agent', { params: { agent } })
  // What is new is compared with what runs; where that is the newest, with the one before.
  const before = version === newest ? newest - 1 : (version ?? newest)
  const from = older ?? String(Math.max(1, before))
  const query = { from, ...defined({ to: newer }) }
  const lines = await request('GET /api/agents/:agent/diff', { params: { agent }, query })
  print(lines, shown(diffText(lines)))
}

async function rollback({
  args: [agent, version],
  request,
  print,
}: Context<object, [string, string]>) {
  const body = { version: toNumber('version', version) }
  const now = await request('POST /api/agents/:agent/rollback', { params: { agent }, body })
  print(now, headOf(now))
}

/** Shown first: whoever says yes has seen what to. Exactly that text is approved, whatever comes meanwhile. */
async function approve({
  args: [agent],
  values,
  request,
  print,
  stdin,
  stderr,
}: Context<ValuesOf<typeof yes>, [string]>) {
  const found = await request('GET /api/agents/:agent', { params: { agent } })
  const waiting = found.versions.find(({ state }) => state === 'waiting')
  if (!waiting) throw new Error(`No version of ${short(agent)} waits for an operator.`)
  const { version, hash } = waiting
  const query = { from: String(found.version), to: String(version) }
  const text =
    found.version === undefined
      ? textOf(waiting)
      : diffText(await request('GET /api/agents/:agent/diff', { params: { agent }, query }))
  stderr.write(`${shown(text)}\n${headOf(found)}\n${shown(versionLine(waiting))}\n`)
  if (!values.yes && !stdin.isTTY)
    throw new UsageError('Say --yes to approve it without being asked: nobody is at a terminal.')
  if (!values.yes && !(await confirm('Allow this and have it run?', { stdin, stderr })))
    throw new Error('Nothing was approved.')
  const body = { version, hash }
  const now = await request('POST /api/agents/:agent/approve', { params: { agent }, body })
  print(now, headOf(now))
}

async function once({
  args: [path, task],
  values: { ttl, 'temp-id': tempId, background },
  request,
  print,
  ...io
}: Context<ValuesOf<typeof onceOptions>, [string, string]>) {
  const { name, description, agent } = readAgentFolder(path) as AgentBody
  const body = {
    agent,
    ...defined({ name, description }),
    task,
    ...(ttl !== undefined && { ttlSeconds: toNumber('ttl', ttl) }),
    ...defined({ tempId }),
    ...(background && { background }),
  }
  const done = await request('POST /api/agents/on-demand', { body })
  if (!('state' in done)) {
    const { session, run, expiresAtMs } = done
    return print(done, `It works: session ${session}, run ${run}, until ${time(expiresAtMs)}`)
  }
  return tellEnd({ ...done, isKept: done.expiresAtMs !== undefined }, done, { ...io, print })
}

async function promote({
  args: [session, run],
  values: { id, name, description, 'dry-run': dry },
  request,
  print,
}: Context<ValuesOf<typeof promoteOptions>, [string, string]>) {
  if (id === undefined || name === undefined || description === undefined)
    throw new UsageError('promote needs --id, --name and --description.')
  const body = { session, run, id, name, description, ...(dry && { dryRun: true }) }
  const made = await request('POST /api/agents/promote', { body })
  print(made, addedText(made))
}

async function archive({ args: [agent], request, print }: Context<object, [string]>) {
  const now = await request('POST /api/agents/:agent/archive', { params: { agent }, body: {} })
  print(now, headOf(now))
}

async function restore({ args: [agent], request, print }: Context<object, [string]>) {
  const now = await request('POST /api/agents/:agent/restore', { params: { agent }, body: {} })
  print(now, headOf(now))
}

async function remove({
  args: [agent],
  values,
  request,
  print,
}: Context<ValuesOf<typeof dryRun>, [string]>) {
  const params = { agent }
  if (values['dry-run']) {
    const found = await request('GET /api/agents/:agent', { params })
    return print(found, `Would be deleted: ${headOf(found)}`)
  }
  print(await request('DELETE /api/agents/:agent', { params }), `${short(agent)} is gone.`)
}

async function run({
  args: [agent, task],
  request,
  print,
  ...io
}: Context<object, [string, string]>) {
  const { id } = await request('POST /api/sessions', { body: { agent } })
  const view = await request('POST /api/sessions/:id/runs', {
    params: { id },
    body: { task, wait: true },
  })
  const { stderr, isJson } = io
  if ('result' in view && view.result)
    return tellEnd({ ...view.result, run: view.id, isKept: true }, view, { ...io, print })
  if (isJson) print(view)
  // What waits may be a call of a sub-agent.
  const waiting = waitingOf(await wholeTree(request, id))
  const where = `  isola session show ${id}`
  const text = waiting.length > 0 ? toldWaiting(waiting) : `It is not over yet:\n${where}`
  stderr.write(`${shown(text)}\n`)
  return waitsCode
}

const asksDelete = ({ args: [id] }: Context<object, [string]>) =>
  `Delete ${short(id)} and its versions?`
const yes = {
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
} as const satisfies Options
const onceOptions = {
  ttl: { type: 'string', value: 'seconds', about: 'kept so long; else gone with its answer' },
  'temp-id': { type: 'string', value: 'name', about: 'for your own lists and the record' },
  background: { type: 'boolean', about: 'answers with where it works, and does not wait' },
} as const satisfies Options
const promoteOptions = {
  id: { type: 'string', value: 'id', about: 'what it will be named by' },
  name: { type: 'string', value: 'name' },
  description: { type: 'string', value: 'text', about: 'by which it is found' },
  ...dryRun,
} as const satisfies Options

export default {
  noun: 'agent',
  verbs: defineVerbs({
    list: {
      usage: 'isola agent list',
      about: 'The agents that this key may name: --agent of chat, `model` of a request.',
      run: list,
    },
    add: {
      usage: 'isola agent add <folder|file> [--dry-run]',
      about:
        'Makes an agent of a folder with an agent.yaml, or of a JSON file; the same again with another text makes its next version.',
      options: dryRun,
      run: add,
    },
    show: {
      usage: 'isola agent show <agent> [<version>]',
      about: 'An agent without a plugin: its versions, and the text in force, or of another one.',
      run: show,
    },
    diff: {
      usage: 'isola agent diff <agent> [<version>] [<version>]',
      about: 'What is new in the newest version, or between two.',
      run: diff,
    },
    run: {
      usage: 'isola agent run <agent> <task>',
      about:
        'Has an agent do a task, and waits for what it answers. A run that waits for you says why, and how it goes on: exit code 3.',
      run,
    },
    once: {
      usage: 'isola agent once <folder|file> <task> [options]',
      about: 'Has an agent work that lives for this task only: nothing that destroys or goes out.',
      options: onceOptions,
      run: once,
    },
    promote: {
      usage:
        'isola agent promote <session> <run> --id <id> --name <name> --description <text> [--dry-run]',
      about:
        'Proposes to keep an agent that worked with --background or --ttl; an operator approves it.',
      options: promoteOptions,
      run: promote,
    },
    approve: {
      usage: 'isola agent approve <agent> [--yes]',
      about:
        'Shows what is new in the version that waits and what it needs, and allows that. For operators.',
      options: yes,
      run: approve,
    },
    rollback: {
      usage: 'isola agent rollback <agent> <version>',
      about: 'Has a version that was in force be so again.',
      run: rollback,
    },
    archive: {
      usage: 'isola agent archive <agent>',
      about: 'Puts it aside: it is kept, and nobody runs it.',
      run: archive,
    },
    restore: { usage: 'isola agent restore <agent>', about: 'Has it run again.', run: restore },
    delete: {
      usage: 'isola agent delete <agent> [--yes] [--dry-run]',
      about: 'Takes it away with its versions. What is on the record stays.',
      options: dryRun,
      asks: asksDelete,
      run: remove,
    },
  }),
}
