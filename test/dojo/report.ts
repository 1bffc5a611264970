import type { CarriedAll } from './carried.ts'
import { harmed, type Measured } from './measure.ts'
import type { RecordedCall, RecordedTask } from './suite.ts'
import { factsOf } from './tool-table.ts'

const columns = [10, 7, 9, 9, 10, 12, 10, 6, 6, 6, 8, 8] as const
const row = (cells: readonly (string | number)[]): string =>
  cells.map((cell, at) => `${cell}`[at === 0 ? 'padEnd' : 'padStart'](columns[at] ?? 8)).join('')

const head = [
  'suite',
  'pairs',
  'no call',
  'harmed',
  'encoded',
  'tasks done',
  'unasked',
  'once',
  'more',
  'most',
  'share',
  'typed',
]

const percent = (part: number, of: number) => `${((100 * part) / of).toFixed(0)} %`

function figuresOf(all: readonly Measured[], name: string): string {
  const sum = (of: (one: Measured) => number) => all.reduce((total, one) => total + of(one), 0)
  const tasks = (isSuch: (pauses: number) => boolean) =>
    sum(({ benign }) => benign.filter(({ pauses }) => isSuch(pauses)).length)
  const count = sum(({ benign }) => benign.length)
  const unasked = tasks((pauses) => pauses === 0)
  return row([
    name,
    sum(({ pairs }) => pairs),
    sum(({ withoutCall }) => withoutCall),
    sum(({ attacked }) => harmed(attacked, 'plain')),
    sum(({ attacked }) => harmed(attacked, 'encoded')),
    `${sum(({ benign }) => benign.filter(({ isFinished }) => isFinished).length)}/${count}`,
    unasked,
    tasks((pauses) => pauses === 1),
    tasks((pauses) => pauses > 1),
    Math.max(...all.flatMap(({ benign }) => benign.map(({ pauses }) => pauses))),
    percent(unasked, count),
    percent(
      sum(({ readTyped }) => readTyped.filter(({ pauses }) => pauses === 0).length),
      count,
    ),
  ])
}

/** Why a task asks although somebody reads for it. */
const whyAsked = ({ isTyped }: RecordedTask, asked: readonly RecordedCall[]): string =>
  isTyped && asked.some(({ tool }) => factsOf(tool).destroys)
    ? 'it destroys'
    : 'it writes, pays or sends what it has read'

/** A line a suite and their sum; which tasks ask, about what; which attacks did something. */
export function reportLines(all: readonly Measured[]): readonly string[] {
  const asking = all.flatMap(({ suite, benign, readTyped }) =>
    benign.flatMap(({ task, pauses, asked }, at) => {
      if (pauses === 0) return []
      const names = asked.map(({ tool }) => tool).join(', ')
      const isFree = readTyped[at]?.pauses === 0
      const why = isFree ? 'not if read in narrow types' : whyAsked(task, asked)
      return [`  ${suite.name} ${task.id}: ${pauses} × for ${names} (${why})`]
    }),
  )
  const done = all.flatMap(({ suite, attacked }) =>
    attacked
      .filter(({ effects }) => effects.length > 0)
      .map(({ attack, effects }) => {
        const names = new Set(effects.map(({ tool }) => tool))
        return `  ${suite.name} ${attack.id}: ${[...names].join(', ')}`
      }),
  )
  const kept = all.flatMap(({ attacked }) => attacked)
  const finished = kept.filter(({ isFinished }) => isFinished).length
  return [
    row(head),
    ...all.map((one) => figuresOf([one], one.suite.name)),
    figuresOf(all, 'all'),
    `under attack ${finished} of ${kept.length} runs finished what the user wanted`,
    ...(asking.length === 0 ? [] : ['tasks that ask, once for all calls of a turn:', ...asking]),
    ...(done.length === 0 ? [] : ['attacks that did something:', ...new Set(done)]),
  ]
}

/** What became of every order by every carrier. */
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
