// isola session show|export|delete
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { followEvents } from './events.mjs'
import { dollars, short, time } from './text.mjs'
import { UsageError } from './usage.mjs'

const pathOf = (id) => `/api/sessions/${encodeURIComponent(id)}`

/** A session and what hangs below it, indented. */
export function describe(tree, indent = '') {
  const { id, agent, createdAtMs, runs, usage, costEstimateUsd, children } = tree
  const tokens = usage.inputTokens + usage.outputTokens
  const cost = costEstimateUsd === undefined ? '' : `, ${dollars(costEstimateUsd)}`
  return [
    `${indent}${id}  ${agent}  since ${time(createdAtMs)}${Number.isFinite(tokens) ? `  ${tokens} tokens${cost}` : ''}`,
    ...runs.map(({ id: run, state, result }) => {
      const said = result?.error?.message ?? result?.result
      return `${indent}  ${run}  ${state}${said ? `  ${short(said, 100)}` : ''}`
    }),
    ...children.map((child) => describe(child, `${indent}    `)),
  ].join('\n')
}

/** Every session of a tree, the root first. */
const flatten = (tree) => [tree, ...tree.children.flatMap(flatten)]

async function show({ args: [id], request, print }) {
  const tree = await request(pathOf(id))
  print(tree, describe(tree))
}

async function writeLines(target, lines) {
  for await (const line of lines) {
    if (!target.write(`${JSON.stringify(line)}\n`)) await once(target, 'drain')
  }
}

/** The lines of an export: what each is says `kind`, whose it is `session`. */
async function* exportLines(connect, request, { id, isDeep }) {
  const tree = await request(pathOf(id))
  yield { kind: 'tree', session: id, value: tree }
  for (const { id: session } of isDeep ? flatten(tree) : [tree]) {
    const { messages } = await request(`${pathOf(session)}/transcript`)
    for (const value of messages) yield { kind: 'message', session, value }
    const stored = followEvents(connect(), session, { follow: false, cursor: { seq: 0 } })
    for await (const value of stored) {
      if (value.seq !== undefined) yield { kind: 'event', session, value }
    }
  }
}

async function exportSession({ args: [id], values, connect, request, stdout }) {
  const lines = exportLines(connect, request, { id, isDeep: values.children === true })
  if (values.out === undefined) return writeLines(stdout, lines)
  // A conversation is private: its file is its owner's.
  const file = createWriteStream(values.out, { flags: values.force ? 'w' : 'wx', mode: 0o600 })
  await once(file, 'open').catch((error) => {
    if (error.code === 'EEXIST')
      throw new Error(`${values.out} is there already (--force replaces it).`)
    throw error
  })
  try {
    await writeLines(file, lines)
  } finally {
    file.end()
    await once(file, 'close')
  }
}

async function confirm(question, { stdin, stderr }) {
  const terminal = createInterface({ input: stdin, output: stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

async function remove(context) {
  const { args, values, request, print, stdin } = context
  const [id] = args
  if (!values.yes) {
    if (!stdin.isTTY) throw new UsageError('Without a terminal to ask on, --yes is needed.')
    if (!(await confirm(`Delete ${short(id)}, its sub-agents and all they said?`, context)))
      return 1
  }
  const gone = await request(pathOf(id), { method: 'DELETE' })
  print(gone, `${id} is deleted.`)
}

export default {
  noun: 'session',
  verbs: {
    show: {
      usage: 'isola session show <session>',
      about: 'The session, its runs and its sub-agents, with usage and cost.',
      run: show,
    },
    export: {
      usage: 'isola session export <session> [--children] [--out <file>] [--force]',
      about:
        'Tree, transcript and events as JSON lines: { kind: tree | message | event, session, value }.',
      options: {
        children: { type: 'boolean', about: "the sub-agents' sessions too" },
        out: { type: 'string', value: 'file', about: 'instead of the standard output' },
        force: { type: 'boolean', about: 'replace the file if it is there' },
      },
      run: exportSession,
    },
    delete: {
      usage: 'isola session delete <session> [--yes]',
      about: 'Cancels what runs and deletes the session with its sub-agents.',
      options: { yes: { type: 'boolean', short: 'y', about: 'do not ask' } },
      run: remove,
    },
  },
}
