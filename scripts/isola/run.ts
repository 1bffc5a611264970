// isola run list|show|retry|drop: runs that were given up after too many interruptions; raise: what a run may spend.
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

const runs = '/api/operator/runs'
const pathOf = (run) => `${runs}/${encodeURIComponent(run)}`

async function list({ values, request, print }) {
  const { state, limit } = values
  const query = new URLSearchParams({ ...(state && { state }), ...(limit && { limit }) })
  const answer = await request(`${runs}?${query}`)
  const rows = answer.runs.map((row) => [
    row.run,
    row.session,
    row.agent,
    row.state,
    time(row.atMs),
  ])
  const head = ['run', 'session', 'agent', 'state', 'given up']
  print(answer, rows.length === 0 ? 'No such runs.' : table([head, ...rows]))
}

async function show({ args: [run], request, print }) {
  const row = await request(pathOf(run))
  const { view, ...rest } = row
  const fields = Object.entries({
    ...rest,
    'state of the run': view?.state ?? 'the session is gone',
  })
  const width = Math.max(...fields.map(([name]) => name.length))
  const text = fields.map(([name, value]) => {
    return `${name.padEnd(width)}  ${name.endsWith('AtMs') || name === 'atMs' ? time(value) : short(value)}`
  })
  print(row, text.join('\n'))
}

async function retry({ args: [run], request, print }) {
  const receipt = await request(`${pathOf(run)}/retry`, { method: 'POST', json: {} })
  print(receipt, `Started again as ${receipt.run} of ${receipt.session}.`)
}

async function drop({ args: [run], request, print }) {
  const row = await request(`${pathOf(run)}/drop`, { method: 'POST', json: {} })
  print(row, `${run} is off the list.`)
}

/** The options of `raise`, each with the limit that it names. */
const limitOptions = {
  tokens: ['maxTokens', 'n', 'tokens of all model calls together'],
  cost: ['maxCostUsd', 'usd', 'US dollars'],
  platform: ['maxPlatformUsd', 'usd', 'US dollars of what the platform itself costs'],
  time: ['maxTimeMs', 'ms', 'milliseconds at work; waiting does not count'],
  turns: ['maxTurns', 'n', 'turns'],
  calls: ['maxToolCalls', 'n', 'tool calls'],
  children: ['maxChildren', 'n', 'sub-agents'],
  depth: ['maxDepth', 'n', 'levels of sub-agents, at most 16'],
  concurrency: ['maxConcurrency', 'n', 'calls side by side, at most 64'],
}

async function raise({ args: [session, run], values, request, print }) {
  const given = Object.keys(limitOptions).filter((option) => values[option] !== undefined)
  if (given.length === 0)
    throw new UsageError(`Name a limit: --${Object.keys(limitOptions).join(', --')}.`)
  const json = Object.fromEntries(
    given.map((option) => {
      const text = values[option].trim()
      if (text === '' || !Number.isFinite(Number(text)))
        throw new UsageError(`--${option} must be a number, such as 40.`)
      return [limitOptions[option][0], Number(text)]
    }),
  )
  const path = `/api/sessions/${encodeURIComponent(session)}/runs/${encodeURIComponent(run)}/limits`
  const view = await request(path, { method: 'POST', json })
  const still = view.pauses?.find(({ kind }) => kind === 'budget')
  const waits = still ? `${short(run)} still waits: ${still.reached.message}` : ''
  print(view, waits || `${run} has its new limits; it is ${view.state}.`)
}

export default {
  noun: 'run',
  verbs: {
    list: {
      usage: 'isola run list [--state open|retried|dropped] [--limit <n>]',
      about: 'Runs that were given up after too many interruptions.',
      options: {
        state: { type: 'string', about: 'open (unless named), retried or dropped' },
        limit: { type: 'string', value: 'n', about: '1 to 500' },
      },
      run: list,
    },
    show: {
      usage: 'isola run show <run>',
      about: 'One of them, as its session shows it.',
      run: show,
    },
    retry: {
      usage: 'isola run retry <run>',
      about: 'Starts its task again as a new run. Repeated, it names the same one.',
      run: retry,
    },
    raise: {
      usage:
        'isola run raise <session> <run> [--tokens <n>] [--cost <usd>] [--platform <usd>] [--time <ms>] [--turns <n>] [--calls <n>] [--children <n>] [--depth <n>] [--concurrency <n>]',
      about:
        'What the run may spend from now on, in all; one that waits at a limit goes on. Lower is possible too.',
      options: Object.fromEntries(
        Object.entries(limitOptions).map(([option, [, value, about]]) => [
          option,
          { type: 'string', value, about },
        ]),
      ),
      run: raise,
    },
    drop: { usage: 'isola run drop <run>', about: 'Takes it off the list.', run: drop },
  },
}
