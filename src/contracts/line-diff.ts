/** The differences between two lists of lines, by position. Empty only where both are the same. */
export interface LineDiff {
  /** Lines that the new side has and the old one has not there; moved ones too. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Lines that both have, and not at the same place: each is in `added` and in `removed` as well. */
  readonly moved: readonly string[]
  /**
   * The lines to show, in order: `- ` gone, `+ ` new, `< ` moved from here, `> ` moved to here, `  ` as it was, and
   * `…` for lines left out that are as they were.
   */
  readonly lines: readonly string[]
}

/**
 * Beyond so many edits what lies between the first and the last of them is shown as gone and new: work grows by the
 * square.
 */
const maxEdits = 300

/** @param contextLines How many lines that are as they were stand around each difference; 0: differences alone. */
export function diffLines(
  before: readonly string[],
  after: readonly string[],
  contextLines = 3,
): LineDiff {
  const steps = stepsBetween(before, after)
  const removed = steps.flatMap(({ is, line }) => (is === 'gone' ? [line] : []))
  const added = steps.flatMap(({ is, line }) => (is === 'new' ? [line] : []))
  const [stays, came] = [countOf(removed), countOf(added)]
  const isMoved = (line: string) => stays.has(line) && came.has(line)
  const taken = { gone: new Map<string, number>(), new: new Map<string, number>() }
  const moved: string[] = []
  /** As many of a line as both sides have: the rest is gone, or new. */
  const takes = (is: 'gone' | 'new', line: string): boolean => {
    const count = (taken[is].get(line) ?? 0) + 1
    taken[is].set(line, count)
    return isMoved(line) && count <= Math.min(stays.get(line)!, came.get(line)!)
  }
  const marked = steps.map(({ is, line }) => {
    if (is === 'same') return `  ${line}`
    const isOneOfBoth = takes(is, line)
    if (isOneOfBoth && is === 'new') moved.push(line)
    return `${isOneOfBoth ? (is === 'gone' ? '<' : '>') : is === 'gone' ? '-' : '+'} ${line}`
  })
  return { added, removed, moved, lines: around(steps, marked, contextLines) }
}

/** So many of each, in words. */
export const diffCounts = ({ added, removed, moved }: Omit<LineDiff, 'lines'>): string =>
  [
    `${added.length - moved.length} new`,
    `${removed.length - moved.length} gone`,
    `${moved.length} moved`,
  ].join(', ')

interface Step {
  readonly is: 'same' | 'gone' | 'new'
  readonly line: string
}

const toSteps = (is: Step['is'], lines: readonly string[]): readonly Step[] =>
  lines.map((line) => ({ is, line }))

function stepsBetween(before: readonly string[], after: readonly string[]): readonly Step[] {
  const most = Math.min(before.length, after.length)
  let head = 0
  while (head < most && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  return [
    ...toSteps('same', before.slice(0, head)),
    ...edits(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...toSteps('same', before.slice(before.length - tail)),
  ]
}

/** The shortest way from one list to the other (E. Myers, An O(ND) Difference Algorithm), if it is short enough. */
function edits(before: readonly string[], after: readonly string[]): readonly Step[] {
  const whole = [...toSteps('gone', before), ...toSteps('new', after)]
  if (before.length === 0 || after.length === 0) return whole
  const most = Math.min(before.length + after.length, maxEdits)
  /** How far each diagonal (old position less new one) came with so many edits, by the number of edits. */
  const reached: Int32Array[] = []
  const isDown = (far: Int32Array, edit: number, diagonal: number) =>
    diagonal === -edit || (diagonal !== edit && far[edit + diagonal - 2]! < far[edit + diagonal]!)
  let last: Int32Array = new Int32Array([0])
  for (let edit = 0; edit <= most; edit += 1) {
    const far = new Int32Array(2 * edit + 1)
    for (let diagonal = -edit; diagonal <= edit; diagonal += 2) {
      let at = 0
      // `last` begins with the diagonal -(edit - 1): the one above is at the same index, the one below two before.
      if (edit > 0)
        at = isDown(last, edit, diagonal) ? last[edit + diagonal]! : last[edit + diagonal - 2]! + 1
      while (at < before.length && before[at] === after[at - diagonal]) at += 1
      far[edit + diagonal] = at
      if (at >= before.length && at - diagonal >= after.length)
        return walkBack([...reached, far], before, after, isDown)
    }
    reached.push(far)
    last = far
  }
  return whole
}

function walkBack(
  reached: readonly Int32Array[],
  before: readonly string[],
  after: readonly string[],
  isDown: (far: Int32Array, edit: number, diagonal: number) => boolean,
): readonly Step[] {
  const steps: Step[] = []
  let [old, now] = [before.length, after.length]
  for (let edit = reached.length - 1; edit > 0; edit -= 1) {
    const far = reached[edit - 1]!
    const diagonal = old - now
    const isNew = isDown(far, edit, diagonal)
    const from = isNew ? far[edit + diagonal]! : far[edit + diagonal - 2]!
    const fromNow = from - (isNew ? diagonal + 1 : diagonal - 1)
    while (old > from + (isNew ? 0 : 1) && now > fromNow + (isNew ? 1 : 0)) {
      old -= 1
      now -= 1
      steps.push({ is: 'same', line: before[old]! })
    }
    if (isNew) steps.push({ is: 'new', line: after[--now]! })
    else steps.push({ is: 'gone', line: before[--old]! })
  }
  while (old > 0) steps.push({ is: 'same', line: before[--old]! })
  return steps.toReversed()
}

const countOf = (lines: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** The lines that are near a difference. */
function around(
  steps: readonly Step[],
  marked: readonly string[],
  contextLines: number,
): readonly string[] {
  const isNear = new Uint8Array(steps.length)
  for (const [index, { is }] of steps.entries())
    if (is !== 'same') isNear.fill(1, Math.max(0, index - contextLines), index + contextLines + 1)
  if (contextLines === 0) return marked.filter((_line, index) => isNear[index])
  return marked.flatMap((line, index) =>
    isNear[index] ? [line] : isNear[index - 1] || (index === 0 && isNear.includes(1)) ? ['…'] : [],
  )
}
