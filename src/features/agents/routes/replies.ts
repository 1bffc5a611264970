import * as z from 'zod'
import { atMs, count, flag, object, text, warnings } from '#platform/routes/shapes.ts'
import type { AgentVersion, StoredAgent } from '#runtime/session/types/agent-schedules.ts'
import type { ListedAgent } from '../types.ts'

export const version = z
  .object({
    version: count,
    hash: text.describe('sha-256 of its definition.'),
    state: z.enum(['in force', 'waiting', 'earlier']),
    createdBy: text,
    createdAtMs: atMs,
    needs: z.array(text).describe('What an operator has to allow, or has: `tool http__get`.'),
    approvedBy: text.optional(),
    approvedAtMs: atMs.optional(),
    from: text.optional().describe('The session of the agent on demand that it was.'),
    definition: object,
  })
  .meta({ id: 'AgentVersion' })
export type AgentVersionView = z.infer<typeof version>

export const summary = {
  id: text,
  name: text.optional().describe('Of the version in force.'),
  description: text.optional(),
  owner: text,
  state: z
    .enum(['active', 'archived', 'waiting'])
    .describe('`waiting`: no version is in force yet.'),
  version: count.optional().describe('In force.'),
  newest: count,
  createdAtMs: atMs,
}
export const listed = z.object(summary).meta({ id: 'StoredAgent' })
export type AgentListing = z.infer<typeof listed>
export const applied = z
  .object({
    ...summary,
    isNew: flag.describe('`false`: it had this text already.'),
    applied: version,
    warnings,
  })
  .meta({ id: 'AppliedAgent' })

export const onDemandHandle = z
  .object({ session: text, run: text, expiresAtMs: atMs, tempId: text.optional() })
  .meta({ id: 'OnDemandHandle' })
export const onDemandResult = z
  .object({
    session: text,
    run: text,
    state: text,
    result: text,
    output: object.optional(),
    error: z.object({ code: text, message: text }).optional(),
    usage: object,
    costEstimateUsd: z.number(),
    expiresAtMs: atMs.optional().describe('Absent: it is gone.'),
    tempId: text.optional(),
  })
  .meta({ id: 'OnDemandResult' })

/** An agent as the API shows it. */
export const toListing = ({ inForce, ...agent }: StoredAgent): AgentListing => {
  const { version, hash, definition } = inForce ?? {}
  return toRow({
    ...agent,
    ...(definition && version && hash && { head: { ...definition, version, hash } }),
  })
}

/** A row of the list of agents. */
export function toRow({
  id,
  owner,
  state,
  head,
  newest,
  createdAtMs,
}: Omit<ListedAgent, 'isOwnerHeld'>): AgentListing {
  const { name, description, version } = head ?? {}
  return {
    id,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    owner,
    state: state === 'active' && !head ? 'waiting' : state,
    ...(version !== undefined && { version }),
    newest,
    createdAtMs,
  }
}

/** A version as the API shows it. */
export function toVersion(
  { asker: _asker, ...version }: AgentVersion,
  { inForce }: StoredAgent,
): AgentVersionView {
  const { approvedBy, needs, definition } = version
  const isNow = inForce?.version === version.version
  return {
    ...version,
    state: isNow ? 'in force' : approvedBy === undefined ? 'waiting' : 'earlier',
    needs: needs.map(({ kind, what }) => `${kind} ${what}`),
    definition: { ...definition },
  }
}
