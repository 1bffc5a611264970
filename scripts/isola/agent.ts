// isola agent …: whom a session, or `model` of a request, may name; and agents that need no plugin.
import type { Reply } from '../../src/client/client.ts'
import { readAgentFolder, type AgentBody } from './agent-folder.ts'
import { defineVerbs, dryRun, type Context, type Options, type ValuesOf } from './command.ts'
import { short, shown, table, time } from './text.ts'
import { UsageError } from './usage.ts'

type Agent = Reply<'GET /api/agents'>['agents'][number]
type Version = Reply<'GET /api/agents/:agent'>['versions'][number]
type Applied = Reply<'POST /api/agents'>

const headOf = ({ id, state, owner, version }: Agent) =>
  `${id}: ${version === undefined ? 'no version in force' : `version ${version}`}, ${state}, of ${short(owner)}`

const versionLine = ({
  version,
  state,
  hash,
  createdBy,
  createdAtMs,
  needs,
  approvedBy,
}: Version) =>
  [
    `  version ${version} (${state}) ${hash.slice(0, 12)}, ${time(createdAtMs)} by ${short(createdBy)}`,
    ...(needs.length > 0
      ? [
          `    ${approvedBy === undefined ? 'waits for an operator, who allows' : `${short(approvedBy)} allowed`}: ${needs.map((one) => short(one)).join('; ')}`,
        ]
      : []),
  ].join('\n')

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

function addedText(made: Applied): string {
  const { id, isNew, applied } = made
  if (!isNew) return `${id} has this text already: version ${applied.version}.`
  const next =
    applied.state === 'waiting'
      ? `An operator reads and allows it: isola agent diff ${id}, isola agent approve ${id}`
      : `Next: isola agent run ${id} "<task>"`
  return [headOf(made), versionLine(applied), next].join('\n')
}

async function show({ args: [agent], request, print }: Context<object, [string]>) {
  const found = await request('GET /api/agents/:agent', { params: { agent } })
  const newest = found.versions[0]
  const text = [
    headOf(found),
    ...found.versions.map(versionLine),
    ...(newest ? ['', JSON.stringify(newest.definition, undefined, 2)] : []),
  ]
  print(found, shown(text.join('\n')))
}

const diffText = ({ from, to, added, removed }: Reply<'GET /api/agents/:agent/diff'>): string =>
  [
    `version ${from} → ${to}`,
    ...removed.map((line) => `- ${line}`),
    ...added.map((line) => `+ ${line}`),
  ].join('\n')

async function diff({
  args: [agent, older, newer],
  request,
  print,
}: Context<object, [string, string?, string?]>) {
  const { version, newest } = await request('GET /api/agents/:agent', { params: { agent } })
  // What is new is compared with what runs; where that is the newest, with the one before.
  const before = version === newest ? newest - 1 : (version ?? newest)
  const from = older ?? String(Math.max(1, before))
  const query = { from, ...(newer !== undefined && { to: newer }) }
  const lines = await request('GET /api/agents/:agent/diff', { params: { agent }, query })
  print(lines, shown(diffText(lines)))
}

function toVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`A version is a whole number, not ${short(text, 40)}.`)
}

async function rollback({
  args: [agent, version],
  request,
  print,
}: Context<object, [string, string]>) {
  const body = { version: toVersion(version) }
  const now = await request('POST /api/agents/:agent/rollback', { params: { agent }, body })
  print(now, headOf(now))
}

async function approve({ args: [agent], request, print }: Context<object, [string]>) {
  const { versions } = await request('GET /api/agents/:agent', { params: { agent } })
  const waiting = versions.find(({ state }) => state === 'waiting')
  if (!waiting) throw new Error(`No version of ${short(agent)} waits for an operator.`)
  const { version, hash } = waiting
  const now = await request('POST /api/agents/:agent/approve', {
    params: { agent },
    body: { version, hash },
  })
  print(now, `${headOf(now)}\n${versionLine({ ...waiting, state: 'in force', approvedBy: 'you' })}`)
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

async function run({ args: [agent, task], request, print }: Context<object, [string, string]>) {
  const { id } = await request('POST /api/sessions', { body: { agent } })
  const view = await request('POST /api/sessions/:id/runs', {
    params: { id },
    body: { task, wait: true },
  })
  const { result } = view as {
    readonly result?: { readonly result: string; readonly state: string }
  }
  const text = result ? result.result : `It waits: isola session show ${id}`
  print(view, shown(text))
  return result && result.state !== 'completed' ? 1 : 0
}

const asksDelete = ({ args: [id] }: Context<object, [string]>) =>
  `Delete ${short(id)} and its versions?`
const noOptions = {} as const satisfies Options

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
      usage: 'isola agent show <agent>',
      about: 'An agent without a plugin: its versions, and the newest text.',
      run: show,
    },
    diff: {
      usage: 'isola agent diff <agent> [<version>] [<version>]',
      about: 'What is new in the newest version, or between two.',
      run: diff,
    },
    run: {
      usage: 'isola agent run <agent> <task>',
      about: 'Has an agent do a task, and waits for what it answers.',
      options: noOptions,
      run,
    },
    approve: {
      usage: 'isola agent approve <agent>',
      about: 'Allows what the waiting version needs; it is in force then. For operators.',
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
