// isola agent …: whom a session, or `model` of a request, may name; and agents that need no plugin.
import type { Reply } from '../src/client/client.ts'
import { diffCounts } from '../src/contracts/line-diff.ts'
import { readAgentFolder } from './agent-folder.ts'
import { noun, on, verb } from './command.ts'
import { agree } from './confirm.ts'
import { count, dryRun, flag, rehearsal, text, toNumber, yes, UsageError } from './options.ts'
import { tellEnd, waitsCode } from './run.ts'
import { lines, short, shown, time } from './text.ts'
import { toldWaiting, waitingOf } from './approval-find.ts'
import { wholeTree } from './whole-tree.ts'

type Agent = Reply<'GET /api/agents'>['agents'][number]
type Version = Reply<'GET /api/agents/:agent'>['versions'][number]

const textOf = ({ definition }: Version) => JSON.stringify(definition, undefined, 2)

const headOf = ({ id, state, owner, version }: Agent) =>
  `${id}: ${version === undefined ? 'no version in force' : `version ${version}`}, ${state}, of ${short(owner)}`

function versionLine({ needs, approvedBy, ...one }: Version) {
  const by = approvedBy ? `${short(approvedBy)} allowed` : 'waits for an operator, who allows'
  return lines(
    `  version ${one.version} (${one.state}) ${one.hash.slice(0, 12)}, ${time(one.createdAtMs)} by ` +
      `${short(one.createdBy)}`,
    needs.length > 0 && `    ${by}: ${needs.map((need) => short(need)).join('; ')}`,
  )
}

function addedText(made: Reply<'POST /api/agents'>): string {
  const { id, isNew, applied } = made
  if (!isNew) return `${id} has this text already: version ${applied.version}.`
  const next =
    applied.state === 'waiting'
      ? `An operator reads and allows it: isola agent diff ${id}, isola agent approve ${id}`
      : `Next: isola agent run ${id} "<task>"`
  return lines(headOf(made), versionLine(applied), next)
}

const diffText = ({ from, to, ...diff }: Reply<'GET /api/agents/:agent/diff'>): string =>
  lines(
    `version ${from} → ${to}: ${diffCounts(diff)}`,
    diff.moved.length > 0 && '(< moved from here, > moved to here)',
    diff.lines,
  )

export default noun('agent', {
  list: verb({
    about: 'The agents that this key may name: --agent of chat, `model` of a request.',
    async run({ ask, print }) {
      const [{ data }, { agents: stored }] = await Promise.all([
        ask('GET /v1/models'),
        // Of a version before, or with a key that may not: then there are only those of plugins.
        ask('GET /api/agents').catch(() => ({ agents: [] as readonly Agent[] })),
      ])
      // Agents are ours; the rest are models of providers.
      const agents = data.filter((one) => one.owned_by === 'isola').map(({ id }) => id)
      const told = [...agents, ...stored.filter(({ id }) => !agents.includes(id)).map(headOf)]
      print({ agents, stored }, told.join('\n') || 'This key may name no agent.')
    },
  }),
  add: verb({
    usage: '<folder|file>',
    about:
      'Makes an agent of a folder with an agent.yaml, or of a JSON file; the same again with another text ' +
      'makes its next version.',
    options: dryRun,
    async run({ args: [path], values, ask, sent, print }) {
      // The server refuses a definition with faults.
      const made = await ask('POST /api/agents', { ...readAgentFolder(path), ...sent() })
      print(made, `${values['dry-run'] ? 'Would be made:\n' : ''}${addedText(made)}`)
    },
  }),
  show: verb({
    usage: '<agent> [<version>]',
    about: 'An agent without a plugin: its versions, and the text in force, or of another one.',
    async run({ args: [agent, wanted], ask, print }) {
      const found = await ask('GET /api/agents/:agent')
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
    async run({ args: [, older, to], ask, print }) {
      const { version, newest } = await ask('GET /api/agents/:agent')
      // Compares the newest version with the version in force; where both are the same, with the version before.
      const before = version === newest ? newest - 1 : (version ?? newest)
      const from = older ?? Math.max(1, before)
      const found = await ask('GET /api/agents/:agent/diff', { from, to })
      print(found, shown(diffText(found)))
    },
  }),
  run: verb({
    usage: '<agent> <task>',
    about:
      'Has an agent do a task, and waits for what it answers. A run that waits for you says why, and how it ' +
      'goes on: exit code 3.',
    async run({ args: [agent, task], ask, ...io }) {
      const { id } = await ask('POST /api/sessions', { agent })
      const view = await ask('POST /api/sessions/:id/runs', { task, wait: true }, [id])
      if ('result' in view && view.result)
        return tellEnd({ ...view.result, run: view.id, isKept: true }, view, io)
      if (io.isJson) io.print(view)
      // A call of a sub-agent may be waiting.
      const waiting = waitingOf(await wholeTree(io.request, id))
      const text = toldWaiting(waiting) || `It is not over yet:\n  isola session show ${id}`
      io.stderr.write(`${shown(text)}\n`)
      return waitsCode
    },
  }),
  once: verb({
    usage: '<folder|file> <task> [options]',
    about: 'Has an agent work that lives for this task only: nothing that destroys or goes out.',
    options: {
      ttl: count('seconds', 'kept so long; else gone with its answer', { to: 'ttlSeconds' }),
      'temp-id': text('name', 'for your own lists and the record'),
      background: flag('answers with where it works, and does not wait'),
    },
    async run({ args: [path, task], ask, sent, ...io }) {
      const { name, description, agent } = readAgentFolder(path)
      const done = await ask('POST /api/agents/on-demand', {
        agent,
        name,
        description,
        task,
        ...sent(),
      })
      if ('state' in done)
        return tellEnd({ ...done, isKept: done.expiresAtMs !== undefined }, done, io)
      const { session, run, expiresAtMs } = done
      io.print(done, `It works: session ${session}, run ${run}, until ${time(expiresAtMs)}`)
    },
  }),
  promote: on('POST /api/agents/promote', {
    usage: '<session> <run> --id <id> --name <name> --description <text> [--dry-run]',
    about:
      'Proposes to keep an agent that worked with --background or --ttl; an operator approves it.',
    options: {
      id: text('id', 'what it will be named by'),
      name: text('name'),
      description: text('text', 'by which it is found'),
      ...dryRun,
    },
    sends({ values: { id, name, description } }) {
      if (id === undefined || name === undefined || description === undefined)
        throw new UsageError('promote needs --id, --name and --description.')
      return {}
    },
    says: addedText,
  }),
  approve: verb({
    usage: '<agent>',
    about:
      'Shows what is new in the version that waits and what it needs, and allows that. For operators.',
    options: yes,
    /** The version is shown before the question. Exactly that text is approved, whatever comes meanwhile. */
    async run(context) {
      const { args, ask, print } = context
      const found = await ask('GET /api/agents/:agent')
      const waiting = found.versions.find(({ state }) => state === 'waiting')
      if (!waiting) throw new Error(`No version of ${short(args[0])} waits for an operator.`)
      const { version, hash } = waiting
      const text =
        found.version === undefined
          ? textOf(waiting)
          : diffText(await ask('GET /api/agents/:agent/diff', { from: found.version, to: version }))
      await agree(context, {
        text: `${shown(text)}\n${headOf(found)}\n${shown(versionLine(waiting))}`,
        question: 'Allow this and have it run?',
        to: 'approve it',
        otherwise: 'Nothing was approved.',
      })
      const now = await ask('POST /api/agents/:agent/approve', { version, hash })
      print(now, headOf(now))
    },
  }),
  rollback: on('POST /api/agents/:agent/rollback', {
    usage: '<agent> <version>',
    about: 'Has a version that was in force be so again.',
    sends: ({ args: [, version = ''] }) => ({ version: toNumber(version, 'version') }),
    says: headOf,
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
    would: (found: Agent) => `Would be deleted: ${headOf(found)}`,
    reads: 'GET /api/agents/:agent',
  }),
})
