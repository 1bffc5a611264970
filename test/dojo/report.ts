import type { CarriedAll } from './carried.ts'
import { harmed, pairsWith, type Measured } from './measure.ts'
import type { Attacked, Benign } from './replay.ts'

const columns: readonly (readonly [name: string, width: number])[] = [
  ['suite', 10],
  ['pairs', 6],
  ['no call', 8],
  ['harmed', 7],
  ['encoded', 8],
  ['steered', 8],
  ['worded', 7],
  ['done', 7],
  ['unasked', 8],
  ['once', 5],
  ['more', 5],
  ['most', 5],
  ['share', 7],
  ['| together', 11],
  ['once', 5],
  ['more', 5],
  ['most', 5],
]
const row = (cells: readonly (string | number)[]): string =>
  cells
    .map((cell, at) => `${cell}`[at === 0 ? 'padEnd' : 'padStart'](columns[at]?.[1] ?? 8))
    .join('')

const percent = (part: number, of: number) => `${((100 * part) / of).toFixed(0)} %`
const most = (all: readonly Benign[]) => Math.max(...all.map(({ pauses }) => pauses))

function figuresOf(all: readonly Measured[], name: string): string {
  const sum = (of: (one: Measured) => number) => all.reduce((total, one) => total + of(one), 0)
  const tasks = (which: 'benign' | 'together', isSuch: (pauses: number) => boolean) =>
    sum((one) => one[which].filter(({ pauses }) => isSuch(pauses)).length)
  const asking = (which: 'benign' | 'together') => [
    tasks(which, (pauses) => pauses === 0),
    tasks(which, (pauses) => pauses === 1),
    tasks(which, (pauses) => pauses > 1),
    most(all.flatMap((one) => one[which])),
  ]
  const count = sum(({ benign }) => benign.length)
  const [unasked = 0, ...asked] = asking('benign')
  return row([
    name,
    sum(({ pairs }) => pairs),
    sum(({ withoutCall }) => withoutCall),
    sum(({ attacked }) => harmed(attacked, 'plain')),
    sum(({ attacked }) => harmed(attacked, 'encoded')),
    sum(({ attacked }) => pairsWith(attacked, 'steered', 'plain')),
    sum(({ attacked }) => pairsWith(attacked, 'worded', 'plain')),
    `${sum(({ benign }) => benign.filter(({ isFinished }) => isFinished).length)}/${count}`,
    unasked,
    ...asked,
    percent(unasked, count),
    ...asking('together'),
  ])
}

/** Which of these calls an attack got, by suite, task and attack. */
const listed = (all: readonly Measured[], what: 'effects' | 'steered' | 'worded') =>
  all.flatMap(({ suite, attacked }) => {
    const lines = new Map<string, Set<string>>()
    for (const one of attacked) {
      const key = `  ${suite.name} ${keyOf(one, what)}`
      const found = lines.get(key) ?? new Set()
      if (one[what].length > 0) lines.set(key, found.add(one.attack.id))
    }
    return [...lines].map(([key, attacks]) => `${key}: by ${attacks.size} attacks`)
  })

const keyOf = ({ task, ...one }: Attacked, what: 'effects' | 'steered' | 'worded') =>
  `${task.id} ${[...new Set(one[what])].join(', ')}`

/** A line a suite and their sum; which tasks ask, about what; what attacks got done, and had done otherwise. */
export function reportLines(name: string, all: readonly Measured[]): readonly string[] {
  const asking = all.flatMap(({ suite, benign, together }) =>
    benign.flatMap(({ task, pauses, asked }, at) => {
      if (pauses === 0) return []
      const how = suite.policy?.narrow_reading && !task.readings ? ' (a text says what to do)' : ''
      const less = together[at]!.pauses < pauses ? `, ${together[at]!.pauses} × together` : ''
      return [`  ${suite.name} ${task.id}: ${pauses} × for ${asked.join(', ')}${less}${how}`]
    }),
  )
  const parts = [
    ['tasks that ask, once for all calls of a turn:', asking],
    ['attacks that did something:', listed(all, 'effects')],
    ['tasks in which an attacker chose a narrow value:', listed(all, 'steered')],
    ['tasks in which an attacker chose words that nobody was asked about:', listed(all, 'worded')],
  ] as const
  const attacked = all.flatMap((one) => one.attacked)
  const finished = attacked.filter(({ isFinished }) => isFinished).length
  return [
    `${name}:`,
    row(columns.map(([head]) => head)),
    ...all.map((one) => figuresOf([one], one.suite.name)),
    figuresOf(all, 'all'),
    `under attack ${finished} of ${attacked.length} runs finished what the user wanted`,
    ...parts.flatMap(([head, lines]) => (lines.length === 0 ? [] : [head, ...lines])),
    '',
  ]
}

/** The outcome of every order by every carrier. */
export function carriedLines({ attacks, twins }: CarriedAll): readonly string[] {
  const leaks = attacks.filter(({ leaked }) => leaked.length > 0).length
  const obeyed = attacks.reduce((sum, one) => sum + one.obeyed, 0)
  const finished = twins.filter(({ isFinished }) => isFinished).length
  const asked = twins.reduce((sum, one) => sum + one.asked, 0)
  return [
    `${attacks.length} texts by carriers: ${obeyed} orders obeyed, ${leaks} texts got something out`,
    `${twins.length} without orders: ${finished} finished, ${asked} questions`,
  ]
}
