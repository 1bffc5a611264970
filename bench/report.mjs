// Tables of the benchmark. The aims are printed beside the figures and never decide anything.
import { median, percentile } from './load.mjs'

const names = {
  first: "new session's first run",
  plain: 'plain run',
  stream: 'first token, streamed',
  tool: 'run with one tool',
  agent: 'run with a sub-agent',
  tools10: 'run with ten tools in turn',
}
/** Aims for the time added to the model's own, as a multiple of the time that bare-do adds. */
const timeAims = { plain: 2, stream: 1.8, agent: 2 }
const perToolAim = 2.5
const cpuAim = 2.4
const rateAim = 0.5
const rowAims = { first: 8, plain: 2, tools10: 12, agent: 12 }
const d1Aims = { plain: 4, tool: 5, tools10: 14, agent: 10 }
const startAim = 5
const uploadAimKib = 450

const ms = (value) => value.toFixed(value < 100 ? 2 : 1)
const times = (value) => `${value.toFixed(2)}×`
const verdict = (value, aim, show = String) =>
  aim === undefined ? '' : `≤ ${show(aim)} ${value <= aim ? 'met' : 'missed'}`

function printTable(title, head, rows) {
  const lines = [head, ...rows]
  const widths = head.map((_, at) => Math.max(...lines.map((line) => line[at].length)))
  console.log(title)
  for (const line of lines) {
    const cells = line.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]),
    )
    console.log(`  ${cells.join('  ')}`.trimEnd())
  }
  console.log()
}

export function printTimes(title, measured) {
  const added = (scenario, system) =>
    median(measured[scenario][system]) - median(measured[scenario].direct)
  const head = [
    '',
    'n',
    'direct',
    'bare-do',
    'journal',
    'isola',
    'p95',
    'added /bare',
    '/journal',
    'aim',
  ]
  const rows = Object.entries(measured).map(([scenario, of]) => {
    const overBare = added(scenario, 'isola') / added(scenario, 'bare')
    return [
      names[scenario],
      String(of.isola.length),
      ...['direct', 'bare', 'journal', 'isola'].map((system) => ms(median(of[system]))),
      ms(percentile(of.isola, 0.95)),
      times(overBare),
      times(added(scenario, 'isola') / added(scenario, 'journal')),
      verdict(overBare, timeAims[scenario], times),
    ]
  })
  printTable(title, head, rows)
  if (!measured.tools10) return
  // Nine calls more than the run with one: what each of them adds.
  const perTool = (system) => (added('tools10', system) - added('tool', system)) / 9
  const ratio = perTool('isola') / perTool('journal')
  const shown = ['bare', 'journal', 'isola'].map((system) => `${system} ${ms(perTool(system))}`)
  console.log(
    `  each further tool call: ${shown.join(', ')} ms; isola / journal ${times(ratio)} ` +
      `(${verdict(ratio, perToolAim, times)})\n`,
  )
}

export function printCpu(used) {
  const of = (system) => median(used[system])
  const rows = Object.keys(used).map((system) => [
    system,
    ms(of(system)),
    times(of(system) / of('bare')),
  ])
  printTable(
    'CPU of a plain run, ms, with the work that follows the answer',
    ['', 'ms', '/bare'],
    rows,
  )
  console.log(`  isola / bare: ${verdict(of('isola') / of('bare'), cpuAim, times)}\n`)
}

export function printConcurrency(results, { sessions, runs }) {
  const rate = (system) => median(results[system].map(({ perSecond }) => perSecond))
  const rows = Object.keys(results).map((system) => {
    const all = results[system].flatMap((pass) => pass.times)
    return [
      system,
      rate(system).toFixed(0),
      ms(median(all)),
      ms(percentile(all, 0.99)),
      (rate(system) / rate('bare')).toFixed(2),
    ]
  })
  const title =
    `${sessions} sessions × ${runs} plain runs at once (median of the passes; aim: ≥ ${rateAim} of ` +
    `bare-do's rate)`
  printTable(title, ['', 'runs/s', 'p50 ms', 'p99 ms', 'of bare'], rows)
}

export function printCosts(costs, atRest) {
  const rows = Object.keys(names).map((scenario) => {
    const of = (system, what) =>
      costs[system].filter((cost) => cost.scenario === scenario).map((cost) => cost[what])
    const most = (system, what) => Math.max(...of(system, what))
    const written = most('isola', 'rows')
    const inDatabase = most('isola', 'd1Rows')
    return [
      names[scenario],
      String(written),
      verdict(written, rowAims[scenario]),
      String(most('bare', 'rows')),
      String(most('journal', 'rows')),
      String(inDatabase),
      verdict(inDatabase, d1Aims[scenario]),
      String(most('isola', 'statements')),
      String(median(of('isola', 'calls'))),
      String(median(of('isola', 'bytes'))),
      String(median(of('bare', 'bytes'))),
      String(median(of('isola', 'promptTokens'))),
    ]
  })
  printTable(
    'Cost of a run: rows written in all objects and in D1 (most), statements, sent to the model (median)',
    [
      '',
      'rows',
      'aim',
      'bare',
      'journal',
      'D1 rows',
      'aim',
      'statements',
      'model calls',
      'bytes up',
      'bare',
      'prompt tokens',
    ],
    rows,
  )
  const { rows: written, d1Rows, alarms, statements } = atRest
  console.log(
    `  A plain run of a session at rest, until it rests again (12 s): ${written} rows (${verdict(written, 3)}), ` +
      `${alarms} setAlarm (${verdict(alarms, 1)}), ${statements} statements, ${d1Rows} D1 rows\n`,
  )
}

export function printStart(starts, upload) {
  const ratio = median(starts.isola) / median(starts.bare)
  console.log(
    `Process start to first answer: isola ${ms(median(starts.isola))} ms, bare-do ${ms(median(starts.bare))} ms, ` +
      `${times(ratio)} (${verdict(ratio, startAim, times)})`,
  )
  console.log(
    `Upload as deployed: isola ${upload.isola.kib} KiB, ${upload.isola.gzipKib} KiB gzip ` +
      `(${verdict(upload.isola.gzipKib, uploadAimKib)}); bare-do ${upload.bare.gzipKib} KiB gzip`,
  )
}
