// The injected faults and their outcomes, for people and for `grep`.

const kinds = ['abort', 'reset', 'exit', 'evict']
const verdicts = ['lost', 'doubled', 'stuck']

/** `{ faults, lost, doubled, stuck }`, counted over sessions: a session that was hit twice and lost once counts once. */
export function totalsOf(results) {
  const totals = { faults: 0, lost: 0, doubled: 0, stuck: 0 }
  for (const { struck, evictions, problems } of results) {
    totals.faults += struck.length + evictions
    for (const verdict of verdicts)
      if (problems.some(({ kind }) => kind === verdict)) totals[verdict] += 1
  }
  return totals
}

export const lastLine = ({ faults, lost, doubled, stuck }) =>
  `faults ${faults} lost ${lost} doubled ${doubled} stuck ${stuck}`

/** Counts per failpoint and kind, a line each. */
export function tableOf(results, points) {
  const counts = new Map(points.map((point) => [point, {}]))
  const add = (point, kind, more) => {
    const row = counts.get(point) ?? {}
    counts.set(point, row)
    row[kind] = (row[kind] ?? 0) + more
  }
  for (const { struck, evictions } of results) {
    for (const { point, kind } of struck) add(point, kind, 1)
    if (evictions > 0) add('(at rest)', 'evict', evictions)
  }
  const width = Math.max(...[...counts.keys()].map(({ length }) => length))
  const line = (name, cells) =>
    [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(6))].join(' ')
  return [
    line('failpoint', kinds),
    ...[...counts].map(([point, row]) =>
      line(
        point,
        kinds.map((kind) => row[kind] ?? 0),
      ),
    ),
  ].join('\n')
}

/** How runs ended: for the eye, none of it is a verdict. */
export function endsOf(results) {
  const ends = {}
  for (const { states } of results) for (const state of states) ends[state] = (ends[state] ?? 0) + 1
  return Object.entries(ends)
    .map(([state, count]) => `${state} ${count}`)
    .join(', ')
}

export function violationsOf(results) {
  return results
    .filter(({ problems }) => problems.length > 0)
    .map(({ scenario, session, faults, problems }) =>
      [
        `${scenario} ${session}`,
        ...problems.map(({ kind, what }) => `  ${kind}: ${what}`),
        `  again: npm run faults -- --trial '${JSON.stringify({ scenario, faults })}'`,
      ].join('\n'),
    )
}

/**
 * @param places What the campaign recorded: `point position` each.
 * @returns One line for each failpoint that is neither reached nor exempt, or exempt by mistake.
 */
export function coverageFaults({ points, places, exempt, chance }) {
  const reached = new Set([...places].map((place) => place.split(' ')[0]))
  const known = new Set(points)
  const excused = new Set([...Object.keys(exempt), ...Object.keys(chance)])
  return [
    ...points
      .filter((point) => !reached.has(point) && !excused.has(point))
      .map((point) => `${point} was reached by no scenario and is not in exempt.mjs`),
    ...[...excused]
      .filter((point) => !known.has(point))
      .map((point) => `${point} is in exempt.mjs but does not exist`),
    ...Object.keys(exempt)
      .filter((point) => reached.has(point))
      .map((point) => `${point} is exempt but was reached`),
  ]
}
