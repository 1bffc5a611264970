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
/** Of the issue: times as multiples of (b), rows a run. */
const timeAims = { plain: 2, stream: 1.5 }
const rowAims = { first: 10, plain: 3, tools10: 13, agent: 12 }

const ms = (value) => value.toFixed(value < 100 ? 2 : 1)
const times = (value) => `${value.toFixed(2)}×`
const verdict = (value, aim, show) =>
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
  const head = ['', 'n', 'a p50', 'a p95', 'b p50', 'b p95', 'isola p50', 'p95', '/b', '/a', 'aim']
  const rows = Object.entries(measured).map(([scenario, { a, b, isola }]) => {
    const overB = median(isola) / median(b)
    return [
      names[scenario],
      String(isola.length),
      ...[a, b, isola].flatMap((values) => [ms(median(values)), ms(percentile(values, 0.95))]),
      times(overB),
      times(median(isola) / median(a)),
      verdict(overB, timeAims[scenario], times),
    ]
  })
  printTable(title, head, rows)
}

export function printConcurrency(results, { sessions, runs }) {
  const rate = (system) => median(results[system].map(({ perSecond }) => perSecond))
  const rows = Object.keys(results).map((system) => {
    const all = results[system].flatMap((pass) => pass.times)
    const p50 = median(all)
    return [
      system,
      rate(system).toFixed(0),
      ms(p50),
      ms(percentile(all, 0.99)),
      system === 'isola' ? times(rate('b') / rate('isola')) : '',
      system === 'isola' ? times(rate('a') / rate('isola')) : '',
    ]
  })
  const title = `${sessions} sessions × ${runs} plain runs at once (median of the passes)`
  printTable(title, ['', 'runs/s', 'p50 ms', 'p99 ms', 'cost /b', 'cost /a'], rows)
}

export function printCosts(costs) {
  const rows = Object.keys(names).map((scenario) => {
    const of = (system, what) =>
      costs[system].filter((cost) => cost.scenario === scenario).map((cost) => cost[what])
    const written = Math.max(...of('isola', 'rows'))
    return [
      names[scenario],
      String(written),
      verdict(written, rowAims[scenario], String),
      String(Math.max(...of('b', 'rows'))),
      String(median(of('isola', 'calls'))),
      String(median(of('isola', 'bytes'))),
      String(median(of('b', 'bytes'))),
      String(median(of('isola', 'promptTokens'))),
      String(median(of('b', 'promptTokens'))),
    ]
  })
  const head = ['', 'rows', 'aim', 'b', 'model calls', 'bytes up', 'b', 'prompt tokens', 'b']
  printTable(
    'Cost of a run: rows written in all objects (most), sent to the model (median)',
    head,
    rows,
  )
}
