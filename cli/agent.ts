// isola agent …: whom a session, or `model` of a request, may name; and agents that need no plugin.
import type { Reply } from '../src/client/client.ts'
import { addedText, diffText, headOf, versionLine } from './agent-text.ts'
import { readAgentFolder, type AgentBody } from './agent-folder.ts'
import { noun, on, verb } from './command.ts'
import { agreed } from './confirm.ts'
import { count, dryRun, flag, rehearsal, sentOf, text, toNumber, yes } from './options.ts'
import { tellEnd, waitsCode } from './outcome.ts'
import { lines, short, shown, time } from './text.ts'
import { UsageError } from './usage.ts'
import { toldWaiting, waitingOf } from './waiting.ts'
import { wholeTree } from './whole-tree.ts'

type Agent = Reply<'GET /api/agents'>['agents'][number]
type Version = Reply<'GET /api/agents/:agent'>['versions'][number]

const textOf = ({ definition }: Version) => JSON.stringify(definition, undefined, 2)

export default noun('agent', {
  list: verb({
    about: 'The agents that this key may name: --agent of chat, `model` of a request.',
    async run({ request, print }) {
      const [{ data }, stored] = await Promise.all([
        request('GET /v1/models'),
        // Of a version before, or with a key that may not: then there are only those of plugins.
        request('GET /api/agents').catch(() => ({ agents: [] as readonly Agent[] })),
      ])
      // Agents are ours; the rest are models of providers.
      const named = data.filter((one) => one.owned_by === 'isola').map(({ id }) => id)
      const rest = stored.agents.filter(({ id }) => !named.includes(id))
      const told = [...named, ...rest.map(headOf)]
      const value = { agents: named, stored: stored.agents }
      print(value, told.join('\n') || 'This key may name no agent.')
    },
  }),
  add: verb({
    usage: '<folder|file>',
    about:
      'Makes an agent of a folder with an agent.yaml, or of a JSON file; the same again with another text makes its next version.',
    options: dryRun,
    async run({ args: [path], values, request, print }) {
      // The server refuses a definition with faults.
      const definition = readAgentFolder(path) as AgentBody
      const body = { ...definition, ...(values['dry-run'] && { dryRun: true }) }
      const made = await request('POST /api/agents', { body })
      print(made, values['dry-run'] ? `Would be made:\n${addedText(made)}` : addedText(made))
    },
  }),
  show: verb({
    usage: '<agent> [<version>]',
    about: 'An agent without a plugin: its versions, and the text in force, or of another one.',
    async run({ args: [agent, wanted], request, print }) {
      const found = await request('GET /api/agents/:agent', { params: { agent } })
      const { versions } = found
      const number = wanted === undefined ? found.version : toNumber(wanted, 'version')
      const one = versions.find(({ version }) => version === number)
      // They are for who may edit it: to others it has none.
      if (wanted !== undefined && !one)
        throw new Error(`There is no version ${wanted} of ${short(agent)} that you may read.`)
      // Where none is in force yet, the newest is what there is.
      const read = one ?? versions[0]
      const text = lines(
        headOf(found),
        versions.map(versionLine),
        read && ['', `The text of version ${read.version} (${read.state}):`, textOf(read)],
      )
      print(found, shown(text))
    },
  }),
  diff: verb({
    usage: '<agent> [<version>] [<version>]',
    about: 'What is new in the newest version, or between two.',
    async run({ args: [agent, older, newer], request, print }) {
      const { version, newest } = await request('GET /api/agents/:agent', { params: { agent } })
      // Compares the newest version with the version in force; where both are the same, with the version before.
      const before = version === newest ? newest - 1 : (version ?? newest)
      const from = older ?? String(Math.max(1, before))
      const query = { from, ...(newer !== undefined && { to: newer }) }
      const found = await request('GET /api/agents/:agent/diff', { params: { agent }, query })
      print(found, shown(diffText(found)))
    },
  }),
  run: verb({
    usage: '<agent> <task>',
    about:
      'Has an agent do a task, and waits for what it answers. A run that waits for you says why, and how it goes on: exit code 3.',
    async run({ args: [agent, task], request, print, ...io }) {
      const { id } = await request('POST /api/sessions', { body: { agent } })
      const view = await request('POST /api/sessions/:id/runs', {
        params: { id },
        body: { task, wait: true },
      })
      const { stderr, isJson } = io
      if ('result' in view && view.result)
        return tellEnd({ ...view.result, run: view.id, isKept: true }, view, { ...io, print })
      if (isJson) print(view)
      // A call of a sub-agent may be waiting.
      const waiting = waitingOf(await wholeTree(request, id))
      const where = `  isola session show ${id}`
      const text = waiting.length > 0 ? toldWaiting(waiting) : `It is not over yet:\n${where}`
      stderr.write(`${shown(text)}\n`)
      return waitsCode
    },
  }),
  once: verb({
    usage: '<folder|file> <task> [options]',
    about: 'Has an agent work that lives for this task only: nothing that destroys or goes out.',
    options: {
      ttl: count('seconds', 'kept so long; else gone with its answer', 'ttlSeconds'),
      'temp-id': text('name', 'for your own lists and the record'),
      background: flag('answers with where it works, and does not wait'),
    },
    async run({ args: [path, task], request, print, sent, ...io }) {
      const { name, description, agent } = readAgentFolder(path) as AgentBody
      const named = {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
      }
      const body = { agent, ...named, task, ...sent() }
      const done = await request('POST /api/agents/on-demand', { body })
      if (!('state' in done)) {
        const { session, run, expiresAtMs } = done
        return print(done, `It works: session ${session}, run ${run}, until ${time(expiresAtMs)}`)
      }
      return tellEnd({ ...done, isKept: done.expiresAtMs !== undefined }, done, { ...io, print })
    },
  }),
  promote: verb({
    usage: '<session> <run> --id <id> --name <name> --description <text> [--dry-run]',
    about:
      'Proposes to keep an agent that worked with --background or --ttl; an operator approves it.',
    options: {
      id: text('id', 'what it will be named by'),
      name: text('name'),
      description: text('text', 'by which it is found'),
      ...dryRun,
    },
    async run({ args: [session, run], values, request, print }) {
      const { id, name, description } = values
      if (id === undefined || name === undefined || description === undefined)
        throw new UsageError('promote needs --id, --name and --description.')
      const body = { session, run, id, name, description, ...sentOf(dryRun, values) }
      const made = await request('POST /api/agents/promote', { body })
      print(made, addedText(made))
    },
  }),
  approve: verb({
    usage: '<agent>',
    about:
      'Shows what is new in the version that waits and what it needs, and allows that. For operators.',
    options: yes,
    /** The version is shown before the question. Exactly that text is approved, whatever comes meanwhile. */
    async run({ args: [agent], values, ...context }) {
      const { request, print, stderr } = context
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
      if (!(await agreed('Allow this and have it run?', values.yes, context, 'approve it')))
        throw new Error('Nothing was approved.')
      const body = { version, hash }
      const now = await request('POST /api/agents/:agent/approve', { params: { agent }, body })
      print(now, headOf(now))
    },
  }),
  rollback: verb({
    usage: '<agent> <version>',
    about: 'Has a version that was in force be so again.',
    async run({ args: [agent, version], request, print }) {
      const body = { version: toNumber(version, 'version') }
      const now = await request('POST /api/agents/:agent/rollback', { params: { agent }, body })
      print(now, headOf(now))
    },
  }),
  archive: on('POST /api/agents/:agent/archive', {
    usage: '<agent>',
    about: 'Puts it aside: it is kept, and no request runs it.',
    sends: {},
    says: headOf,
  }),
  restore: on('POST /api/agents/:agent/restore', {
    usage: '<agent>',
    about: 'Has it run again.',
    sends: {},
    says: headOf,
  }),
  delete: on('DELETE /api/agents/:agent', {
    usage: '<agent>',
    about: 'Takes it away with its versions. What is on the record stays.',
    options: rehearsal,
    asks: (id) => `Delete ${id} and its versions?`,
    says: (_gone, { args: [agent] }) => `${short(agent)} is gone.`,
    would: 'Would be deleted: ',
    reads: 'GET /api/agents/:agent',
    saysRead: headOf,
  }),
})
