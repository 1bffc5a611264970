// Agents without a plugin, for a terminal.
import type { Reply } from '../src/client/client.ts'
import { diffCounts } from '../src/contracts/line-diff.ts'
import { short, time } from './text.ts'

type Agent = Reply<'GET /api/agents'>['agents'][number]
type Version = Reply<'GET /api/agents/:agent'>['versions'][number]
type Applied = Reply<'POST /api/agents'>

export const headOf = ({ id, state, owner, version }: Agent) =>
  `${id}: ${version === undefined ? 'no version in force' : `version ${version}`}, ${state}, of ${short(owner)}`

export const versionLine = ({
  version,
  state,
  hash,
  createdBy,
  createdAtMs,
  needs,
  approvedBy,
}: Version) =>
  [
    `  version ${version} (${state}) ${hash.slice(0, 12)}, ${time(createdAtMs)} by ${short(createdBy)}`,
    ...(needs.length > 0
      ? [
          `    ${approvedBy === undefined ? 'waits for an operator, who allows' : `${short(approvedBy)} allowed`}: ${needs.map((one) => short(one)).join('; ')}`,
        ]
      : []),
  ].join('\n')

export function addedText(made: Applied): string {
  const { id, isNew, applied } = made
  if (!isNew) return `${id} has this text already: version ${applied.version}.`
  const next =
    applied.state === 'waiting'
      ? `An operator reads and allows it: isola agent diff ${id}, isola agent approve ${id}`
      : `Next: isola agent run ${id} "<task>"`
  return [headOf(made), versionLine(applied), next].join('\n')
}

export const diffText = ({ from, to, ...diff }: Reply<'GET /api/agents/:agent/diff'>): string =>
  [
    `version ${from} → ${to}: ${diffCounts(diff)}`,
    ...(diff.moved.length > 0 ? ['(< moved from here, > moved to here)'] : []),
    ...diff.lines,
  ].join('\n')
